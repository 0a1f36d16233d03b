package index

// After any changes to the files, a sync leaves the index that a rebuild would build.

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/internal/clock"
	"ac/workspace"
)

// company is a workspace that a test changes from outside, as other programs do.
type company struct {
	dir string
	// ahead sets the clock an hour ahead, so that all files are old enough for their timestamps
	// to be trusted. Each write then gets its own timestamp.
	ahead  bool
	writes int
}

func newCompany(tb fataler, dir string, ahead bool) (*company, *workspace.Workspace) {
	env := workspace.SystemEnv()
	if ahead {
		env.Clock = clock.New(func() time.Time { return time.Now().Add(time.Hour) }, 0)
	}
	if err := workspace.Init(context.Background(), env, dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		tb.Fatal(err)
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		tb.Fatal(err)
	}
	return &company{dir: dir, ahead: ahead}, w
}

func (c *company) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// stamp sets the timestamp of a written file, alternately forward and back.
func (c *company) stamp(name string) {
	if !c.ahead {
		return
	}
	c.writes++
	at := time.Unix(1_700_000_000, 0).Add(time.Duration(c.writes*(1-c.writes%2*2)) * time.Second)
	must(os.Chtimes(c.path(name), at, at))
}

func (c *company) put(name, text string) {
	must(os.MkdirAll(filepath.Dir(c.path(name)), 0o755))
	if st, err := os.Lstat(c.path(name)); err == nil && !st.Mode().IsRegular() {
		must(os.RemoveAll(c.path(name)))
	}
	must(os.WriteFile(c.path(name), []byte(text), 0o644))
	c.stamp(name)
}

func (c *company) replace(name, text string) {
	c.put(name+".new", text)
	must(os.Rename(c.path(name+".new"), c.path(name)))
}

func (c *company) append(name, text string) {
	must(os.MkdirAll(filepath.Dir(c.path(name)), 0o755))
	f, err := os.OpenFile(c.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(err)
	_, err = f.WriteString(text)
	must(err)
	must(f.Close())
	c.stamp(name)
}

func (c *company) text(name string) string {
	text, _ := os.ReadFile(c.path(name))
	return string(text)
}

func runYAML(id, agent, status string) string {
	return fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: p\nagent_id: %s\nprovider: cmd\ncreated_at: 2026-01-01T00:00:00.000Z\nstatus: %s\ncontext_pack_id: c\nevents_relpath: x\nusage:\n  source: provider_reported\n  confidence: high\n  total_tokens: 7\n  cost_usd: 0.1\ncontext_cycles:\n  count: 2\n  source: provider_signal\n", id, agent, status)
}

func eventLine(i int, kind string) string {
	return fmt.Sprintf(`{"type":%q,"ts_wallclock":"2026-01-01T00:00:%02d.000Z","actor":"a%d","session_ref":"s","visibility":"org","ts_monotonic_ms":%d,"payload":{"i":%d,"allowed":true}}`, kind, i%60, i%3, i, i)
}

// interactionLine returns an event of one of three interactions.
func interactionLine(n int, resolves bool) string {
	kind := "interaction.requested"
	if resolves {
		kind = "interaction.resolved"
	}
	return fmt.Sprintf(`{"type":%q,"ts_wallclock":"2026-01-01T00:00:%02d.000Z","actor":"a","session_ref":"s","payload":{"interaction_id":"int_%d","kind":"input","n":%d}}`, kind, n%60, n%3, n)
}

// usageLine returns an event about usage or a turn.
func usageLine(n int, kind string) string {
	return fmt.Sprintf(`{"type":%q,"ts_wallclock":"2026-01-01T00:00:%02d.000Z","actor":"a","session_ref":"s","payload":{"turn":%d,"total_tokens":%d,"input_tokens":%d,"cache_write_tokens":%d,"cost_usd":0.%d,"model":"m%d"}}`, kind, n%60, n%4, n, n/2, n/3, n, n%3)
}

// changes makes one random change to the workspace.
func (c *company) changes(t *rapid.T) {
	project := rapid.SampledFrom([]string{"p", "p", "p", "q"}).Draw(t, "project")
	runDir := "work/projects/" + project + "/runs/" + rapid.SampledFrom([]string{"r1", "r1", "r1", "r2", "r3"}).Draw(t, "run")
	log, n := runDir+"/events.jsonl", rapid.IntRange(0, 1000).Draw(t, "n")
	line := eventLine(n, rapid.SampledFrom([]string{"note", "policy.decision", "policy.denied", "budget.decision", "budget.alert", "budget.exceeded"}).Draw(t, "type"))
	if rapid.IntRange(0, 1).Draw(t, "interaction") == 0 {
		line = interactionLine(n, rapid.Bool().Draw(t, "resolves"))
	}
	if rapid.IntRange(0, 1).Draw(t, "usage") == 0 {
		line = usageLine(n, rapid.SampledFrom([]string{"usage.reported", "usage.reported", "usage.estimated", "usage.cost_computed", "run.turn_ended", "run.ended", "run.continued", "run.started"}).Draw(t, "used"))
	}
	id := rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "id")
	agent := rapid.SampledFrom([]string{"a1", "a2"}).Draw(t, "agent")
	steps := map[string]func(){
		"run":        func() { c.put(runDir+"/run.yaml", runYAML(filepath.Base(runDir), agent, "running")) },
		"ended":      func() { c.replace(runDir+"/run.yaml", runYAML(filepath.Base(runDir), agent, "ended")) },
		"copied run": func() { c.put(runDir+"/run.yaml", runYAML(id, agent, "failed")) },
		"broken run": func() { c.put(runDir+"/run.yaml", "type: run\n") },
		"odd usage": func() {
			c.put(runDir+"/run.yaml", runYAML(filepath.Base(runDir), agent, "ended")+"spec:\n  kind: nonsense\n")
		},
		"append": func() { c.append(log, line+"\n") },
		"many": func() {
			c.append(log, strings.Repeat(line+"\n", n%400))
		},
		"blank":    func() { c.append(log, " \n\n\t\n") },
		"garbage":  func() { c.append(log, "{nonsense\n[1]\nnull\n") },
		"torn":     func() { c.append(log, line[:n%len(line)]) },
		"tail":     func() { c.append(log, line) },
		"complete": func() { c.append(log, "\n") },
		"truncate": func() {
			if text := c.text(log); text != "" {
				must(os.Truncate(c.path(log), int64(n%len(text))))
				c.stamp(log)
			}
		},
		"same size": func() { c.rewrite(log, n, c.put) },
		"replaced":  func() { c.rewrite(log, n, c.replace) },
		"no log":    func() { must(os.RemoveAll(c.path(log))) },
		"no run":    func() { must(os.RemoveAll(c.path(runDir))) },
		"no record": func() { must(os.RemoveAll(c.path(runDir + "/run.yaml"))) },
		"link": func() {
			must(os.RemoveAll(c.path(runDir)))
			must(os.MkdirAll(filepath.Dir(c.path(runDir)), 0o755))
			must(os.Symlink(c.path("company"), c.path(runDir)))
		},
		"log dir":       func() { must(os.RemoveAll(c.path(log))); must(os.MkdirAll(c.path(log), 0o755)) },
		"moved folder":  func() { c.swap(runDir, "work/projects/"+project+"/runs/"+id) },
		"moved runs":    func() { c.swap("work/projects/p/runs", "work/projects/q/runs") },
		"moved project": func() { c.swap("work/projects/p", "work/projects/q") },
		"moved all":     func() { c.swap("work/projects", "work/projects-of-old") },
	}
	if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
		steps = c.documentChanges(project, agent, n)
	}
	names := make([]string, 0, len(steps))
	for name := range steps {
		names = append(names, name)
	}
	sort.Strings(names)
	name := rapid.SampledFrom(names).Draw(t, "change")
	if strings.HasSuffix(name, "run") || name == "ended" || name == "odd usage" || c.isLog(name) {
		c.unlink(runDir, log)
	}
	steps[name]()
}

func (c *company) isLog(name string) bool {
	return slices.Contains([]string{"append", "many", "blank", "garbage", "torn", "tail", "complete", "truncate", "same size", "replaced"}, name)
}

// swap exchanges two directories. One of them may be missing.
func (c *company) swap(a, b string) {
	aside := filepath.Join(c.dir, "aside")
	for _, move := range [][2]string{{c.path(a), aside}, {c.path(b), c.path(a)}, {aside, c.path(b)}} {
		if _, err := os.Lstat(move[0]); err == nil {
			must(os.MkdirAll(filepath.Dir(move[1]), 0o755))
			must(os.Rename(move[0], move[1]))
		}
	}
}

// unlink removes a link or a directory that stands where a run or its log belongs.
func (c *company) unlink(runDir, log string) {
	for _, name := range []string{runDir, log} {
		if st, err := os.Lstat(c.path(name)); err == nil && (st.Mode()&os.ModeSymlink != 0 || (name == log && st.IsDir())) {
			must(os.RemoveAll(c.path(name)))
		}
	}
}

// rewrite flips one bit of a file.
func (c *company) rewrite(name string, n int, how func(name, text string)) {
	text := []byte(c.text(name))
	if len(text) == 0 {
		return
	}
	text[n%len(text)] ^= 1
	how(name, string(text))
}

func (c *company) documentChanges(project, agent string, n int) map[string]func() {
	in := "work/projects/" + project
	head := func(id, kind string) string {
		return "---\nid: " + id + "\ntype: " + kind + "\ncreated_at: 2026-01-01T00:00:00Z\nrun_id: r1\n---\nbody\n"
	}
	review := "schema_version: 1\ntype: review\nid: rev1\ncreated_at: 2026-01-01T00:00:00Z\nactor_id: h\nactor_role: human\ndecision: approved\nsubject: {kind: memory_delta, artifact_id: art1, project_id: p}\npolicy: {allowed: true, rule_id: r, reason: x}\n"
	help := "---\nschema_version: 1\ntype: help_request\nid: help1\ncreated_at: soon\ntitle: t\nvisibility: org\nrequester: a\ntarget_manager: m\n---\n## Question\n## Response\n"
	conversation := func(id string) string {
		scope := "scope: workspace\n"
		if project == "q" {
			scope = "scope: project\nproject_id: q\n"
		}
		return "schema_version: 1\ntype: conversation\nid: " + id + "\n" + scope + "kind: channel\nname: n\nslug: n\nvisibility: org\ncreated_at: 2026-01-01T00:00:00Z\ncreated_by: a\nparticipants:\n  agent_ids: [a, b]\n"
	}
	place := "inbox/conversations/c1"
	if project == "q" {
		place = in + "/conversations/c1"
	}
	message := fmt.Sprintf(`{"schema_version":1,"type":"message","id":"m%d","conversation_id":"c1","created_at":"2026-01-01T00:00:00Z","author_id":"a","author_role":"ceo","visibility":"org","body":"b"}`, n%5)
	task := fmt.Sprintf("---\nschema_version: 1\ntype: task\nid: t1\nproject_id: p\ntitle: t\ncreated_at: 2026-01-01T00:00:00Z\nstatus: draft\nvisibility: org\nmilestones:\n  - {id: m%d, title: t, kind: coding, status: done, acceptance_criteria: [x]}\n---\n", n%3)
	return map[string]func(){
		"artifact":       func() { c.put(in+"/artifacts/art1.md", head("art1", "memory_delta")) },
		"other artifact": func() { c.replace(in+"/artifacts/art1.md", head("art1", "proposal")) },
		"stray":          func() { c.put(in+"/artifacts/art2.md", head("art1", "memory_delta")) },
		"rename": func() {
			if c.text(in+"/artifacts/art2.md") != "" {
				must(os.Rename(c.path(in+"/artifacts/art2.md"), c.path(in+"/artifacts/art1.md")))
			}
		},
		"no artifact":     func() { must(os.RemoveAll(c.path(in + "/artifacts/art1.md"))) },
		"review":          func() { c.put("inbox/reviews/rev1.yaml", review+"more: true\n") },
		"broken review":   func() { c.put("inbox/reviews/rev1.yaml", "type: review\n") },
		"help":            func() { c.put("inbox/help_requests/help1.md", help) },
		"bad help":        func() { c.put("inbox/help_requests/help1.md", strings.Replace(help, "## Response", "", 1)) },
		"conversation":    func() { c.put(place+"/conversation.yaml", conversation("c1")) },
		"misplaced":       func() { c.put(place+"/conversation.yaml", conversation("c2")) },
		"no conversation": func() { must(os.RemoveAll(c.path(place))) },
		"message":         func() { c.append(place+"/messages.jsonl", message+"\n") },
		"torn message":    func() { c.append(place+"/messages.jsonl", message[:n%len(message)]) },
		"whole tail":      func() { c.append(place+"/messages.jsonl", message) },
		"task":            func() { c.put(in+"/tasks/t1.md", task) },
		"bad task":        func() { c.put(in+"/tasks/t1.md", strings.Replace(task, "title: t\n", "", 1)) },
		"agent": func() {
			c.put("org/agents/"+agent+"/agent.yaml", "schema_version: 1\ntype: agent\nid: "+agent+"\nname: N\nrole: worker\nprovider: claude\ncreated_at: 2026-01-01T00:00:00Z\n")
		},
		"no agent": func() { must(os.RemoveAll(c.path("org/agents/" + agent))) },
		"comment": func() {
			c.put("inbox/comments/cmt1.yaml", "schema_version: 1\ntype: comment\nid: cmt1\ncreated_at: 2026-01-01T00:00:00Z\nauthor_id: a\nauthor_role: ceo\nvisibility: org\ntarget: {project_id: p, run_id: r1}\nbody: b\n")
		},
		"no project": func() { must(os.RemoveAll(c.path(in))) },
	}
}

// dump returns the rows of all tables, with files named by their paths.
func dump(tb fataler, ix *Index) map[string][]string {
	tables := map[string][]string{}
	err := ix.View(context.Background(), func(v *View) error {
		for name, text := range dumps() {
			rows, err := v.conn.QueryContext(context.Background(), text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			lines, err := written(rows)
			if err != nil {
				return err
			}
			sort.Strings(lines)
			tables[name] = lines
		}
		k, err := loadFileStates(context.Background(), v.conn, 0)
		if err != nil {
			return err
		}
		for _, f := range k.byPath {
			tables["files"] = append(tables["files"], fmt.Sprintf("%s %d %s %q shown=%v %s %s %+v", f.path, f.kind, f.project, f.claim, f.hasRows, f.problem, f.what, f.log))
		}
		sort.Strings(tables["files"])
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return tables
}

type fataler interface{ Fatal(args ...any) }

func dumps() map[string]string {
	own := func(table, columns string) string {
		return "SELECT (SELECT path FROM ac_files f WHERE f.id=t.id), " + columns + " FROM " + table + " t"
	}
	list := map[string]string{
		"events": `SELECT (SELECT path FROM ac_files f WHERE f.id=e.id>>36), e.seq, e.id-((e.id>>36)<<36), (SELECT word FROM ac_words WHERE id=project), at,
 (SELECT word FROM ac_words WHERE id=type), (SELECT word FROM ac_words WHERE id=actor), offset, length, sum FROM ac_events e`,
		"interactions": "SELECT (SELECT path FROM ac_files f WHERE f.id=i.id>>36), i.id-((i.id>>36)<<36), interaction_id, kind, session, workflow, at, resolved, resolved_at FROM ac_interactions i",
		"errors":       "SELECT (SELECT path FROM ac_files f WHERE f.id=e.id>>36), seq, error, offset, length, sum FROM ac_event_parse_errors e",
		"participants": "SELECT (SELECT path FROM ac_files f WHERE f.id=conversation), participant_kind, position, participant_id FROM ac_conversation_participants",
		"milestones":   "SELECT (SELECT path FROM ac_files f WHERE f.id=task), seq, milestone_id, status FROM ac_task_milestones",
		"messages":     "SELECT (SELECT path FROM ac_files f WHERE f.id=conversation), seq, message_id, created_at, body, kind FROM ac_messages",
		"counters":     "SELECT * FROM ac_agent_counters",
		"state":        "SELECT messages FROM ac_state",
		"counts":       countRows,
	}
	list["runs"] = own("ac_runs", "project_id, run_id, dir, at, status, agent_id, usage_total_tokens, usage_cost_usd, context_cycles_count")
	list["stats"] = own("ac_run_stats", statsColumns+", retry_of, session_ref, usage")
	list["usage"] = "SELECT (SELECT path FROM ac_files f WHERE f.id=u.id>>36), u.id-((u.id>>36)<<36), at, estimated, input, cached, cache_write, output, reasoning, total, cost_usd, cost_by, model FROM ac_usage_records u"
	list["artifacts"] = own("ac_artifacts", "project_id, artifact_id, type, subject_kind, run_id, relpath")
	list["reviews"] = own("ac_reviews", "review_id, decision, subject_artifact_id, notes")
	list["help"] = own("ac_help_requests", "help_request_id, at, title, answered")
	list["conversations"] = own("ac_conversations", "conversation_id, project_id, dir")
	list["tasks"] = own("ac_tasks", "project_id, task_id, progress_ratio")
	list["agents"] = own("ac_agents", "agent_id, provider")
	list["comments"] = own("ac_comments", "comment_id, body")
	return list
}

func written(rows *sql.Rows) (lines []string, err error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, v := range values {
			fmt.Fprintf(&b, "%v|", *v.(*any))
		}
		lines = append(lines, b.String())
	}
	return lines, rows.Err()
}

func TestSyncEqualsRebuild(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	base := t.TempDir()
	examples := 0
	rapid.Check(t, func(t *rapid.T) {
		examples++
		dir := filepath.Join(base, fmt.Sprint(examples))
		defer func() { _ = os.RemoveAll(dir) }() // the end of the test removes what is left
		c, w := newCompany(t, dir, rapid.Bool().Draw(t, "ahead"))
		defer w.Close()
		ix := For(w)
		if rapid.Bool().Draw(t, "stays") {
			ix.EnableWatch()
		}
		defer ix.Close()
		c.put("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", "running"))
		c.append("work/projects/p/runs/r1/events.jsonl", eventLine(1, "note")+"\n")
		for range rapid.IntRange(1, 8).Draw(t, "syncs") {
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				c.changes(t)
			}
			synced, err := ix.Sync(ctx)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ix.Sync(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if again.EventsIndexed+again.EventsDeleted+again.EventParseErrorsIndexed+again.RunsDeleted+again.MessagesDeleted != 0 {
				t.Fatalf("a sync of what did not change did something: %+v after %+v", again, synced)
			}
		}
		after := dump(t, ix)
		if _, err := ix.Rebuild(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dump(t, ix), after); diff != "" {
			t.Fatalf("a rebuild (-) differs from the syncs (+):\n%s", diff)
		}
	})
}

// TestDuplicatesNameTheirHolder removes the holder of an id that several documents claim. The
// others then name the new holder, as after a rebuild.
func TestDuplicatesNameTheirHolder(t *testing.T) {
	t.Parallel()
	c, w := newCompany(t, filepath.Join(t.TempDir(), "ws"), true)
	defer func() { must(w.Close()) }()
	ix := For(w)
	defer func() { must(ix.Close()) }()
	for _, dir := range []string{"r1", "r2", "r3"} {
		c.put("work/projects/p/runs/"+dir+"/run.yaml", runYAML("r1", "a1", "running"))
	}
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"all stand", func() {}},
		{"the first is broken", func() { c.put("work/projects/p/runs/r1/run.yaml", "type: run\n") }},
		{"a new one comes when the holder goes", func() {
			must(os.RemoveAll(c.path("work/projects/p/runs/r2")))
			c.put("work/projects/p/runs/r4/run.yaml", runYAML("r1", "a1", "failed"))
		}},
		{"the second gets another id", func() { c.put("work/projects/p/runs/r2/run.yaml", runYAML("r2", "a1", "running")) }},
		{"the first stands again", func() { c.put("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", "ended")) }},
	} {
		step.do()
		if _, err := ix.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := dump(t, ix)
		if _, err := ix.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dump(t, ix), after); diff != "" {
			t.Errorf("%s: a rebuild (-) differs from the sync (+):\n%s", step.what, diff)
		}
	}
}
