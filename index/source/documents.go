package source

// Decoding documents into rows.

import (
	"encoding/json"
	"hash/crc64"
	"math"
	"path"
	"strings"
	"time"

	"ac/internal/clock"
	"ac/internal/frontmatter"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// Problems of source files, as they appear in the list of problems.
const (
	ProblemMalformed = "malformed"  // it does not match its type's schema
	ProblemStray     = "stray_copy" // its name does not match its ID, or it is in the wrong place
	ProblemDuplicate = "duplicate"  // another file with the same id takes precedence
	ProblemUnread    = "unreadable" // it could not be read
)

// Row is a row of a table. The writer prepends the file's ID to its values.
type Row struct {
	Table  string
	Values []any
}

// Document is what the index stores of a document.
type Document struct {
	Claim   string // "" if the document is invalid
	Rows    []Row
	Agent   string // the agent whose counters it affects
	Problem string
	What    string
}

func problemDocument(problem, what string) Document { return Document{Problem: problem, What: what} }

// UnreadableDocument returns the document for a file that could not be read.
func UnreadableDocument(err error) Document { return problemDocument(ProblemUnread, oneLine(err)) }

func malformedDocument(err error) Document { return problemDocument(ProblemMalformed, oneLine(err)) }

func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	return text[:min(len(text), 500)]
}

// Decode decodes the document of a source. An invalid one has a Problem.
func Decode(s File, text []byte) Document {
	switch s.Kind {
	case KindRun:
		return decodeRun(s, text)
	case KindArtifact:
		return decodeArtifact(s, text)
	case KindReview:
		return decodeReview(s, text)
	case KindHelpRequest:
		return decodeHelpRequest(s, text)
	case KindConversation:
		return decodeConversation(s, text)
	case KindTask:
		return decodeTask(s, text)
	case KindAgent:
		return decodeAgent(s, text)
	default: // KindComment: logs are not documents
		return decodeComment(s, text)
	}
}

// stem returns the name of a file without its extension; parentName returns the name of its
// directory.
func stem(name string) string       { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }
func parentName(name string) string { return path.Base(path.Dir(name)) }

// strayReason returns why a document is in the wrong place, "" if it is not.
func strayReason(id, want string) string {
	if why := shape.CheckID(id); why != "" {
		return "its id " + why
	}
	if id != want {
		return "it carries the id " + id
	}
	return ""
}

// instant returns a timestamp in Unix nanoseconds, nil for other texts. A date means the
// beginning of its day, because handwritten documents often contain only a date.
func instant(text string) any {
	if t, ok := parseTime(text); ok {
		return t
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return clock.Nanos(t)
	}
	return nil
}

func parseTime(text string) (ns int64, ok bool) {
	t, ok := clock.Parse(text)
	return clock.Nanos(t), ok
}

// Nullable returns a text, or nil if it is empty.
func Nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func maybeNumber[N int | int64 | float64](n *N) any {
	if n == nil {
		return nil
	}
	return *n
}

func jsonList(list []string) string {
	if list == nil {
		return "[]"
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "[]" // a list of strings always encodes
	}
	return string(text)
}

// runCore has the fields that a run needs to be listed. Blocks that may be invalid without
// hiding the run are bound separately.
type runCore struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=run"`
	ID            string `json:"id"`
	ProjectID     string `json:"project_id"`
	AgentID       string `json:"agent_id"`
	Provider      string `json:"provider"`
	CreatedAt     string `json:"created_at" is:"time"`
	Status        string `json:"status" is:"enum=running|ended|failed|stopped"`
	ContextPackID string `json:"context_pack_id"`
	EventsRelpath string `json:"events_relpath"`
}

var (
	runCoreCodec = yamldoc.For[runCore]()
	cyclesCodec  = yamldoc.For[doc.ContextCycles]()
	specCodec    = yamldoc.For[doc.Spec]()
)

func decodeRun(s File, text []byte) Document {
	value, err := yamldoc.Parse(text)
	if err != nil {
		return malformedDocument(err)
	}
	run, err := runCoreCodec.Bind(&value)
	if err != nil {
		return malformedDocument(err)
	}
	if why := shape.CheckID(run.ID); why != "" {
		return problemDocument(ProblemMalformed, "id: "+why)
	}
	at, _ := parseTime(run.CreatedAt)
	values := []any{
		s.Project, run.ID, parentName(s.Path), run.CreatedAt, at, run.Status, run.Provider, run.AgentID, run.ContextPackID, run.EventsRelpath,
	}
	usage, err := doc.UsageCodec.Bind(value.Get("usage"))
	if err == nil {
		values = append(values, usage.TotalTokens, finite(usage.CostUSD), usage.Source, usage.Confidence,
			maybeNumber(usage.InputTokens), maybeNumber(usage.CachedInputTokens), maybeNumber(usage.OutputTokens), maybeNumber(usage.ReasoningOutputTokens),
			Nullable(usage.CostSource))
	} else {
		values = append(values, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	}
	if cycles, err := cyclesCodec.Bind(value.Get("context_cycles")); err == nil {
		values = append(values, cycles.Count, cycles.Source)
	} else {
		values = append(values, nil, nil)
	}
	if spec, err := specCodec.Bind(value.Get("spec")); err == nil {
		values = append(values, Nullable(spec.Model), Nullable(spec.TaskID), Nullable(spec.MilestoneID))
	} else {
		values = append(values, nil, nil, nil)
	}
	sessions := 1
	if of := value.Get("live").Get("sessions"); of.Kind == shape.Number && of.Num >= 1 && of.Num <= math.MaxInt32 {
		sessions = int(of.Num)
	}
	values = append(values, Nullable(value.Get("error_kind").Text), instant(value.Get("ended_at").Text), Nullable(value.Get("error").Text), sessions, Nullable(value.Get("model_profile").Text))
	return Document{
		Claim: "run\x00" + s.Project + "\x00" + run.ID, Agent: run.AgentID,
		Rows: []Row{{"ac_runs", values}},
	}
}

func finite(n *float64) any {
	if n == nil || math.IsInf(*n, 0) || math.IsNaN(*n) {
		return nil
	}
	return *n
}

func decodeArtifact(s File, text []byte) Document {
	head, _, err := frontmatter.Split(text)
	if err != nil {
		return malformedDocument(err)
	}
	value, err := yamldoc.Parse(head)
	if err != nil {
		return malformedDocument(err)
	}
	field := func(name string) any {
		v := value.Get(name)
		if v.Kind != shape.String {
			return nil
		}
		return v.Text
	}
	id, kindOf := value.Get("id"), value.Get("type")
	if value.Kind != shape.Map || id.Kind != shape.String || kindOf.Kind != shape.String || strings.TrimSpace(id.Text) == "" || strings.TrimSpace(kindOf.Text) == "" {
		return problemDocument(ProblemMalformed, "the front matter needs id and type")
	}
	if why := strayReason(id.Text, stem(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	var at any
	if created, ok := field("created_at").(string); ok {
		at = instant(created)
	}
	return Document{Claim: s.Path, Rows: []Row{{"ac_artifacts", []any{
		s.Project, id.Text, kindOf.Text, Nullable(subjectKind(kindOf.Text, field("proposes"))), field("title"), field("visibility"), field("produced_by"),
		field("run_id"), field("context_pack_id"), field("created_at"), at, s.Path,
	}}}}
}

// subjectKind returns the subject kind of reviews of an artifact type, "" if that type is not
// reviewed. A proposal is reviewed only if it proposes files.
func subjectKind(artifactType string, proposes any) string {
	switch artifactType {
	case "proposal":
		if proposes == doc.ProposesFiles {
			return doc.ProposesFiles
		}
	case "memory_delta":
		return "memory_delta"
	case "milestone_report":
		return "milestone"
	case "heartbeat_action_proposal":
		return "heartbeat_action"
	}
	return ""
}

func decodeReview(s File, text []byte) Document {
	r, err := doc.ReviewCodec.Decode(text)
	if err != nil {
		return malformedDocument(err)
	}
	if why := strayReason(r.ID, stem(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	at, _ := parseTime(r.CreatedAt)
	var notes any
	if r.Notes != nil {
		notes = *r.Notes
	}
	return Document{Claim: s.Path, Rows: []Row{{"ac_reviews", []any{
		r.ID, r.CreatedAt, at, r.Decision, r.ActorID, r.ActorRole, r.Subject.Kind, r.Subject.ArtifactID, r.Subject.ProjectID, notes,
	}}}}
}

func decodeHelpRequest(s File, text []byte) Document {
	head, body, err := frontmatter.Split(text)
	if err != nil {
		return malformedDocument(err)
	}
	h, err := doc.HelpRequestCodec.Decode(head)
	if err != nil {
		return malformedDocument(err)
	}
	if why := strayReason(h.ID, stem(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	for _, heading := range []string{"## Question", "## Response"} {
		if !frontmatter.HasHeading(body, heading) {
			return problemDocument(ProblemMalformed, "the heading "+heading+" is missing")
		}
	}
	return Document{Claim: s.Path, Rows: []Row{{"ac_help_requests", []any{
		h.ID, h.CreatedAt, instant(h.CreatedAt), h.Title, h.Visibility, h.Requester, h.TargetManager, Nullable(h.ProjectID), Nullable(h.SharePackID),
		!frontmatter.BlankSection(body, "## Response"),
	}}}}
}

func decodeConversation(s File, text []byte) Document {
	c, err := doc.ConversationCodec.Decode(text)
	if err != nil {
		return malformedDocument(err)
	}
	want := parentName(s.Path)
	if path.Dir(s.Path) == workspace.HomeDir {
		want = workspace.HomeID
	}
	why := strayReason(c.ID, want)
	if why == "" && c.ProjectID != s.Project {
		why = "it belongs to another place"
	}
	if why != "" {
		return problemDocument(ProblemStray, why)
	}
	at, _ := parseTime(c.CreatedAt)
	d := Document{Claim: "conversation\x00" + c.ID, Rows: []Row{{"ac_conversations", []any{
		c.ID, c.Scope, Nullable(c.ProjectID), c.Kind, c.Name, c.Slug, c.Visibility, c.CreatedAt, at, c.CreatedBy, c.AutoGenerated, Nullable(c.DMPeerAgentID), path.Dir(s.Path),
	}}}}
	for position, id := range c.Participants.AgentIDs {
		d.Rows = append(d.Rows, Row{"ac_conversation_participants", []any{"agent", position, id}})
	}
	for position, id := range c.Participants.TeamIDs {
		d.Rows = append(d.Rows, Row{"ac_conversation_participants", []any{"team", position, id}})
	}
	return d
}

func decodeTask(s File, text []byte) Document {
	head, _, err := frontmatter.Split(text)
	if err != nil {
		return malformedDocument(err)
	}
	t, err := doc.TaskCodec.Decode(head)
	if err != nil {
		return malformedDocument(err)
	}
	if why := strayReason(t.ID, stem(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	values := []any{
		s.Project, t.ID, t.Title, t.Status, t.Visibility, Nullable(t.TeamID), Nullable(t.AssigneeAgentID), t.CreatedAt, instant(t.CreatedAt),
	}
	if p := t.Schedule; p != nil {
		values = append(values, Nullable(p.PlannedStart), Nullable(p.PlannedEnd), maybeNumber(p.DurationDays), jsonList(p.DependsOnTaskIDs))
	} else {
		values = append(values, nil, nil, nil, nil)
	}
	if e := t.ExecutionPlan; e != nil {
		values = append(values, Nullable(e.PreferredProvider), Nullable(e.PreferredModel), Nullable(e.PreferredAgentID), maybeNumber(e.TokenBudgetHint), Nullable(e.AppliedBy), Nullable(e.AppliedAt))
	} else {
		values = append(values, nil, nil, nil, nil, nil, nil)
	}
	d := Document{Claim: s.Path, Rows: []Row{{"ac_tasks", append(values, t.Progress(), s.Path)}}}
	for i, m := range t.Milestones {
		var patch, tests bool
		if m.Evidence != nil {
			patch, tests = m.Evidence.RequiresPatch, m.Evidence.RequiresTests
		}
		d.Rows = append(d.Rows, Row{"ac_task_milestones", []any{i + 1, m.ID, m.Title, m.Kind, m.Status, jsonList(m.AcceptanceCriteria), patch, tests}})
	}
	return d
}

func decodeAgent(s File, text []byte) Document {
	a, err := doc.AgentCodec.Decode(text)
	if err != nil {
		return malformedDocument(err)
	}
	if why := strayReason(a.ID, parentName(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	return Document{Claim: s.Path, Agent: a.ID, Rows: []Row{{"ac_agents", []any{
		a.ID, a.Name, a.Role, a.Provider, Nullable(a.ModelHint), Nullable(a.TeamID),
	}}}}
}

func decodeComment(s File, text []byte) Document {
	c, err := doc.CommentCodec.Decode(text)
	if err != nil {
		return malformedDocument(err)
	}
	if why := strayReason(c.ID, stem(s.Path)); why != "" {
		return problemDocument(ProblemStray, why)
	}
	at, _ := parseTime(c.CreatedAt)
	return Document{Claim: s.Path, Rows: []Row{{"ac_comments", []any{
		c.ID, c.SchemaVersion, c.CreatedAt, at, c.AuthorID, c.AuthorRole, c.Visibility, c.Target.ProjectID,
		Nullable(c.Target.AgentID), Nullable(c.Target.ArtifactID), Nullable(c.Target.RunID), c.Body,
	}}}}
}

// Sum hashes a text, to detect changes that leave the times of its file equal.
func Sum(text []byte) uint64 { return crc64.Checksum(text, crcTable()) }
