package index

// The tables. All have the prefix ac_, so that other programs can keep their own tables in the
// same file. The text of an event is in its log; its row has only the location.
//
// A row from a file has the ID of that file as its key. An event's key combines the file ID of
// its run and its seq in one integer, so that the events of a run are adjacent and in log
// order.
//
// The key of an interaction is that of the event that requested it. The column resolved is the
// seq of the event that resolved it, in the same log.
//
// The key of a usage record combines the file ID of its run and the record's number in the run.
//
// The column at is a time in nanoseconds, so that times compare by value, however they are
// written. A text that is not a time has none and compares as text.
//
// Events are indexed by time only within each project, because sorting them is the most
// expensive part of a rebuild. A query over all projects merges the few sorted sequences.

// applicationID and schemaVersion identify an index file of ours and its layout.
const (
	applicationID = 0x61636978 // "acix"
	schemaVersion = 10
)

// seqBits is the number of bits of an event's key that hold its seq.
const seqBits = 36

func eventKey(run, seq int64) int64 { return run<<seqBits | seq }

// tables is the schema that must exist before rows are written.
const tables = `
CREATE TABLE ac_state(generation INTEGER NOT NULL, messages INTEGER NOT NULL, inode INTEGER NOT NULL);
CREATE TABLE ac_files(id INTEGER PRIMARY KEY, path TEXT NOT NULL, state BLOB NOT NULL, problem TEXT, what TEXT);
CREATE TABLE ac_words(id INTEGER PRIMARY KEY, word TEXT NOT NULL);
CREATE TABLE ac_runs(
  id INTEGER PRIMARY KEY, project_id TEXT NOT NULL, run_id TEXT NOT NULL, dir TEXT NOT NULL,
  created_at TEXT NOT NULL, at INTEGER NOT NULL, status TEXT NOT NULL, provider TEXT NOT NULL, agent_id TEXT NOT NULL,
  context_pack_id TEXT NOT NULL, events_relpath TEXT NOT NULL,
  usage_total_tokens INTEGER, usage_cost_usd REAL, usage_source TEXT, usage_confidence TEXT,
  usage_input_tokens INTEGER, usage_cached_tokens INTEGER, usage_output_tokens INTEGER, usage_reasoning_tokens INTEGER, usage_cost_source TEXT,
  context_cycles_count INTEGER, context_cycles_source TEXT,
  spec_model TEXT, spec_task_id TEXT, spec_milestone_id TEXT, error_kind TEXT,
  ended_at INTEGER, error TEXT, sessions INTEGER NOT NULL, model_profile TEXT);
CREATE TABLE ac_run_stats(
  id INTEGER PRIMARY KEY, events INTEGER NOT NULL, parse_errors INTEGER NOT NULL,
  policy_decisions INTEGER NOT NULL, policy_denied INTEGER NOT NULL,
  budget_decisions INTEGER NOT NULL, budget_alerts INTEGER NOT NULL, budget_exceeded INTEGER NOT NULL,
  last_seq INTEGER, last_type TEXT, last_ts TEXT, last_actor TEXT, last_visibility TEXT,
  latest_policy_decision TEXT, latest_policy_denied TEXT, latest_budget_decision TEXT,
  retry_of TEXT, session_ref TEXT, usage TEXT);
CREATE TABLE ac_events(
  id INTEGER PRIMARY KEY, project INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, type INTEGER NOT NULL, actor INTEGER,
  offset INTEGER NOT NULL, length INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE ac_event_parse_errors(
  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, error INTEGER NOT NULL,
  offset INTEGER NOT NULL, length INTEGER NOT NULL, sum INTEGER NOT NULL);
CREATE TABLE ac_interactions(
  id INTEGER PRIMARY KEY, interaction_id TEXT NOT NULL, kind TEXT NOT NULL, session INTEGER NOT NULL, workflow TEXT,
  at INTEGER NOT NULL, resolved INTEGER, resolved_at INTEGER);
CREATE TABLE ac_usage_records(
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, estimated INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL, total INTEGER NOT NULL, cost_usd REAL, cost_by TEXT, model TEXT);
CREATE TABLE ac_artifacts(
  id INTEGER PRIMARY KEY, project_id TEXT NOT NULL, artifact_id TEXT NOT NULL, type TEXT NOT NULL, subject_kind TEXT,
  title TEXT, visibility TEXT, produced_by TEXT, run_id TEXT, context_pack_id TEXT, created_at TEXT, at INTEGER, relpath TEXT NOT NULL);
CREATE TABLE ac_reviews(
  id INTEGER PRIMARY KEY, review_id TEXT NOT NULL, created_at TEXT NOT NULL, at INTEGER NOT NULL, decision TEXT NOT NULL,
  actor_id TEXT NOT NULL, actor_role TEXT NOT NULL, subject_kind TEXT NOT NULL, subject_artifact_id TEXT NOT NULL,
  project_id TEXT NOT NULL, notes TEXT);
CREATE TABLE ac_help_requests(
  id INTEGER PRIMARY KEY, help_request_id TEXT NOT NULL, created_at TEXT NOT NULL, at INTEGER, title TEXT NOT NULL,
  visibility TEXT NOT NULL, requester TEXT NOT NULL, target_manager TEXT NOT NULL, project_id TEXT, share_pack_id TEXT,
  answered INTEGER NOT NULL);
CREATE TABLE ac_conversations(
  id INTEGER PRIMARY KEY, conversation_id TEXT NOT NULL, scope TEXT NOT NULL, project_id TEXT, kind TEXT NOT NULL,
  name TEXT NOT NULL, slug TEXT NOT NULL, visibility TEXT NOT NULL, created_at TEXT NOT NULL, at INTEGER NOT NULL,
  created_by TEXT NOT NULL, auto_generated INTEGER NOT NULL, dm_peer_agent_id TEXT, dir TEXT NOT NULL);
CREATE TABLE ac_conversation_participants(
  conversation INTEGER NOT NULL, participant_kind TEXT NOT NULL, position INTEGER NOT NULL, participant_id TEXT NOT NULL,
  PRIMARY KEY(conversation, participant_kind, position)) WITHOUT ROWID;
CREATE TABLE ac_messages(
  id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, seq INTEGER NOT NULL, message_id TEXT NOT NULL, project_id TEXT,
  created_at TEXT NOT NULL, at INTEGER NOT NULL, author_id TEXT NOT NULL, author_role TEXT NOT NULL, kind TEXT NOT NULL,
  visibility TEXT NOT NULL, body TEXT NOT NULL, mentions_json TEXT NOT NULL);
CREATE UNIQUE INDEX ac_messages_by_name ON ac_messages(conversation, message_id);
CREATE TABLE ac_tasks(
  id INTEGER PRIMARY KEY, project_id TEXT NOT NULL, task_id TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
  visibility TEXT NOT NULL, team_id TEXT, assignee_agent_id TEXT, created_at TEXT NOT NULL, at INTEGER,
  schedule_planned_start TEXT, schedule_planned_end TEXT, schedule_duration_days INTEGER, schedule_depends_on_json TEXT,
  execution_preferred_provider TEXT, execution_preferred_model TEXT, execution_preferred_agent_id TEXT,
  execution_token_budget_hint INTEGER, execution_applied_by TEXT, execution_applied_at TEXT,
  progress_ratio REAL NOT NULL, relpath TEXT NOT NULL);
CREATE TABLE ac_task_milestones(
  task INTEGER NOT NULL, seq INTEGER NOT NULL, milestone_id TEXT NOT NULL, title TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
  acceptance_criteria_json TEXT NOT NULL, evidence_requires_patch INTEGER NOT NULL, evidence_requires_tests INTEGER NOT NULL,
  PRIMARY KEY(task, seq)) WITHOUT ROWID;
CREATE TABLE ac_agents(
  id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, provider TEXT NOT NULL, model_hint TEXT, team_id TEXT);
CREATE TABLE ac_agent_counters(
  agent_id TEXT PRIMARY KEY, on_file INTEGER NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, provider TEXT NOT NULL, model_hint TEXT, team_id TEXT,
  total_runs INTEGER NOT NULL, running_runs INTEGER NOT NULL, ended_runs INTEGER NOT NULL, failed_runs INTEGER NOT NULL, stopped_runs INTEGER NOT NULL,
  total_tokens INTEGER NOT NULL, total_cost_usd REAL NOT NULL,
  context_cycles_count INTEGER NOT NULL, context_cycles_known_runs INTEGER NOT NULL, context_cycles_unknown_runs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE ac_comments(
  id INTEGER PRIMARY KEY, comment_id TEXT NOT NULL, schema_version INTEGER NOT NULL, created_at TEXT NOT NULL, at INTEGER NOT NULL, author_id TEXT NOT NULL, author_role TEXT NOT NULL,
  visibility TEXT NOT NULL, project_id TEXT NOT NULL, agent_id TEXT, artifact_id TEXT, run_id TEXT, body TEXT NOT NULL);
CREATE INDEX ac_runs_by_agent ON ac_runs(agent_id, project_id, dir);
CREATE INDEX ac_agents_by_name ON ac_agents(agent_id);
CREATE UNIQUE INDEX ac_words_by_word ON ac_words(word);
CREATE INDEX ac_interactions_open ON ac_interactions(interaction_id) WHERE resolved IS NULL;
`

// indexes are created after the rows of a rebuild, which is faster than maintaining them during
// it.
const indexes = `
CREATE INDEX ac_files_by_path ON ac_files(path);
CREATE INDEX ac_files_problems ON ac_files(problem) WHERE problem IS NOT NULL;
CREATE INDEX ac_runs_by_time ON ac_runs(at DESC, project_id, run_id);
CREATE INDEX ac_runs_by_project ON ac_runs(project_id, at DESC, run_id);
CREATE INDEX ac_runs_by_status ON ac_runs(status, at DESC, project_id, run_id);
CREATE INDEX ac_runs_by_name ON ac_runs(run_id, project_id);
CREATE INDEX ac_events_by_project ON ac_events(project, at, seq);
CREATE INDEX ac_events_by_type ON ac_events(type, project, at, seq);
CREATE INDEX ac_run_stats_broken ON ac_run_stats(id) WHERE parse_errors>0;
CREATE INDEX ac_run_stats_budgets ON ac_run_stats(id) WHERE budget_exceeded>0;
CREATE INDEX ac_run_stats_retries ON ac_run_stats(retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX ac_usage_records_by_time ON ac_usage_records(at);
CREATE INDEX ac_interactions_resolved ON ac_interactions(resolved_at DESC, id DESC) WHERE resolved IS NOT NULL;
CREATE INDEX ac_interactions_by_workflow ON ac_interactions(workflow) WHERE workflow IS NOT NULL;
CREATE INDEX ac_artifacts_by_time ON ac_artifacts(at DESC, CASE WHEN at IS NULL THEN created_at END DESC, artifact_id DESC);
CREATE INDEX ac_artifacts_pending ON ac_artifacts(project_id, at DESC, CASE WHEN at IS NULL THEN created_at END DESC, artifact_id DESC) WHERE subject_kind IS NOT NULL;
CREATE INDEX ac_artifacts_all_pending ON ac_artifacts(at DESC, CASE WHEN at IS NULL THEN created_at END DESC, artifact_id DESC) WHERE subject_kind IS NOT NULL;
CREATE INDEX ac_artifacts_by_name ON ac_artifacts(project_id, artifact_id);
CREATE INDEX ac_reviews_by_time ON ac_reviews(at DESC, review_id DESC);
CREATE INDEX ac_reviews_by_project ON ac_reviews(project_id, at DESC, review_id DESC);
CREATE INDEX ac_reviews_by_subject ON ac_reviews(project_id, subject_artifact_id, subject_kind);
CREATE INDEX ac_help_requests_by_time ON ac_help_requests(at DESC, CASE WHEN at IS NULL THEN created_at END DESC, help_request_id DESC);
CREATE INDEX ac_conversations_by_name ON ac_conversations(conversation_id);
CREATE INDEX ac_conversations_by_project ON ac_conversations(project_id);
CREATE INDEX ac_messages_by_seq ON ac_messages(conversation, seq);
CREATE INDEX ac_tasks_by_project ON ac_tasks(project_id, task_id);
CREATE INDEX ac_comments_by_project ON ac_comments(project_id, at DESC, comment_id DESC);
`

// tableNames lists the tables that a rebuild drops first.
func tableNames() []string {
	return []string{
		"ac_state", "ac_files", "ac_words", "ac_runs", "ac_run_stats", "ac_events", "ac_event_parse_errors", "ac_interactions", "ac_usage_records", "ac_artifacts", "ac_reviews",
		"ac_help_requests", "ac_conversations", "ac_conversation_participants", "ac_messages", "ac_tasks", "ac_task_milestones",
		"ac_agents", "ac_agent_counters", "ac_comments",
	}
}
