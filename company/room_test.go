package company_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ac/company"
	"ac/snapshot/room"
	"ac/workspace"
)

// roomReader applies the room's frames to its rows.
type roomReader struct {
	mu     sync.Mutex
	rows   map[room.Key]map[string]string
	frames int
	got    chan struct{} // receives after each frame
}

func (r *roomReader) deliver(_ context.Context, _ string, f room.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames++
	if f.Full {
		clear(r.rows)
	}
	for _, d := range f.Del {
		delete(r.rows, d.Key)
	}
	for _, c := range f.Set {
		if r.rows[c.Key] == nil {
			r.rows[c.Key] = map[string]string{}
		}
		for name, value := range c.Fields {
			if r.rows[c.Key][name] = string(value); value == nil {
				delete(r.rows[c.Key], name)
			}
		}
	}
	select {
	case r.got <- struct{}{}:
	default:
	}
	return nil
}

// followed is a workspace with a reader that follows its room.
type followed struct {
	bystander
	*roomReader
}

// follow follows the room of the workspace until the test ends.
func (b bystander) follow() followed { return b.followNewest(50) }

// followNewest is follow with a limit on the newest runs.
func (b bystander) followNewest(limit int) followed {
	r := &roomReader{rows: map[room.Key]map[string]string{}, got: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() {
		folder := b.all.In(b.dir)
		c, err := folder.Enter(ctx)
		if err == nil {
			err = c.FollowRoom(ctx, company.RoomStream{RunsLimit: limit, Deliver: r.deliver})
		}
		ended <- err
	}()
	b.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	})
	return followed{b, r}
}

// settled waits until is reports true. what names the awaited state.
func (f followed) settled(what string, is func() bool) {
	f.t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		if is() {
			return
		}
		select {
		case <-f.got:
		case <-deadline:
			f.t.Fatalf("the room does not show %s:\n%s", what, cmp.Diff(f.freshRoom(), f.rows))
		}
	}
}

// field returns a field of the reader's row, or "" if there is none.
func (f followed) field(table, id, name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows[room.Key{Table: table, ID: id}][name]
}

// same reports whether the reader's rows equal those of a fresh room.read.
func (f followed) same() bool {
	fresh := f.freshRoom()
	f.mu.Lock()
	defer f.mu.Unlock()
	began := cmpopts.IgnoreMapEntries(func(name, _ string) bool { return name == "epoch_at" })
	return len(f.rows) > 0 && cmp.Equal(fresh, f.rows, began)
}

// TestRoomFollows changes logs and documents, through the host and directly on disk. It checks that
// a reader's rows then equal those of a fresh room.read.
func TestRoomFollows(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	r := b.follow()
	settled, same := r.settled, r.same
	settled("itself", same)
	run := b.run()
	runKey := room.Key{Table: room.TableRuns, ID: run}
	settled("a new run", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rows[runKey] != nil
	})
	for i := range 3 {
		b.write("work/projects/"+b.project+"/runs/"+run+"/events.jsonl", b.log(run)+fmt.Sprintf(`{"type":"provider.raw","run_id":%q,"ts_wallclock":"2026-11-20T15:00:0%d.000Z","payload":{"stream":"stdout","chunk":"x\n"}}`+"\n", run, i))
	}
	b.write("work/projects/"+b.project+"/artifacts/art_x.md", "---\nschema_version: 1\ntype: milestone_report\nid: art_x\nproject_id: "+b.project+
		"\ntitle: Done\ncreated_at: 2026-11-20T15:06:57.981Z\nvisibility: org\nproduced_by: human\nrun_id: run_x\ncontext_pack_id: ctx_x\ntask_id: task_x\nmilestone_id: ms_x\nevidence_artifacts: []\n---\n")
	settled("an item to decide", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rows[room.Key{Table: room.TableNeeds, ID: "milestone:art_x"}] != nil && r.rows[room.Key{Table: room.TableCounts, ID: "all"}]["needs"] == "1"
	})
	b.must("inbox.resolve", `{"workspace_dir":"DIR","project_id":"PROJECT","artifact_id":"art_x","decision":"denied","actor_id":"human","actor_role":"human"}`)
	settled("the decision", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rows[room.Key{Table: room.TableNeeds, ID: "milestone:art_x"}] == nil
	})
	b.must("run.discard", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`"}`)
	settled("the end of the run", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rows[runKey]["status"] == `"stopped"`
	})
	settled("all of it", same)
}

// TestRoomFollowsProjects checks that the room follows the folders of a project created later. It
// also catches up after a time when the workspace was unreadable.
func TestRoomFollowsProjects(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	r := b.follow()
	r.settled("itself", r.same)
	var made struct {
		ProjectID string `json:"project_id"`
	}
	b.read(b.must("workspace.project.create_with_defaults", `{"workspace_dir":"DIR","name":"Later"}`), &made)
	r.settled("the project", func() bool { return r.field(room.TableProjects, made.ProjectID, "name") == `"Later"` })
	task := func(id string) {
		b.write("work/projects/"+made.ProjectID+"/tasks/"+id+".md", "---\nschema_version: 1\ntype: task\nid: "+id+"\nproject_id: "+made.ProjectID+
			"\ntitle: T\ncreated_at: 2026-01-01T00:00:00Z\nstatus: draft\nvisibility: org\nmilestones: []\n---\n")
	}
	task("task_1")
	r.settled("its task", func() bool { return r.field(room.TableProjects, made.ProjectID, "tasks") == "1" })
	b.write("work/projects/"+made.ProjectID+"/artifacts/art_y.md", "---\nschema_version: 1\ntype: milestone_report\nid: art_y\nproject_id: "+made.ProjectID+
		"\ntitle: Done\ncreated_at: 2026-11-20T15:06:57.981Z\nvisibility: org\nproduced_by: human\nrun_id: run_x\ncontext_pack_id: ctx_x\ntask_id: task_x\nmilestone_id: ms_x\nevidence_artifacts: []\n---\n")
	r.settled("its report", func() bool { return r.field(room.TableNeeds, "milestone:art_y", "kind") == `"milestone"` })

	inTheWay := filepath.Join(b.dir, filepath.FromSlash(workspace.DismissedFile))
	if err := os.MkdirAll(inTheWay, 0o755); err != nil {
		t.Fatal(err)
	}
	task("task_2")
	r.settled("that it is behind", func() bool { return strings.Contains(r.field(room.TableMeta, "server", "index"), `"behind":true`) })
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	r.settled("all that came meanwhile", func() bool { return r.field(room.TableProjects, made.ProjectID, "tasks") == "2" && r.same() })
}

// TestRoomFields checks the fields for the server's own state, the last diagnosis and unread
// messages.
func TestRoomFields(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	r := b.follow()
	r.settled("itself", r.same)
	if got := r.field(room.TableMeta, "server", "dialects"); got != "[]" {
		t.Errorf("dialects %s", got)
	}
	if r.field(room.TableMeta, "server", "epoch_at") == "" || r.field(room.TableMeta, "server", "launch") != "false" {
		t.Error("the server does not say what it is")
	}
	b.must("workspace.doctor", `{"workspace_dir":"DIR"}`)
	r.settled("the diagnosis", func() bool { return strings.Contains(r.field(room.TableMeta, "server", "doctor"), `"pass":`) })
	var sent struct {
		MessageID      string `json:"message_id"`
		ConversationID string `json:"conversation_id"`
	}
	var list []struct {
		ID string `json:"id"`
	}
	b.read(b.must("conversation.list", `{"workspace_dir":"DIR","scope":"project","project_id":"PROJECT"}`), &list)
	sent.ConversationID = list[0].ID
	b.must("conversation.message.send", `{"workspace_dir":"DIR","scope":"project","project_id":"PROJECT","conversation_id":"`+sent.ConversationID+`","author_id":"agent_x","author_role":"ceo","body":"hello"}`)
	r.settled("what is unread", func() bool { return r.field(room.TableTalk, sent.ConversationID, "unread") == "1" })
}

// TestRoomResumes checks that a client resumes at its revision and gets only later changes. With a
// revision of another room or an unknown one, it gets everything.
func TestRoomResumes(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	r := b.follow() // keeps the room open
	r.settled("itself", r.same)
	folder := b.all.In(b.dir)
	c, err := folder.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type got struct {
		epoch string
		frame room.Frame
	}
	// take follows from a revision and returns the first frame.
	take := func(epoch string, since int64) got {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var first got
		err := c.FollowRoom(ctx, company.RoomStream{RunsLimit: 50, Epoch: epoch, Since: since, Deliver: func(_ context.Context, epoch string, f room.Frame) error {
			first = got{epoch, f}
			return errors.New("enough")
		}})
		if err == nil || err.Error() != "enough" {
			t.Fatalf("no frame came: %v", err)
		}
		return first
	}
	begin := take("", 0)
	if !begin.frame.Full {
		t.Error("the first frame is not everything")
	}
	run := b.run()
	r.settled("the run", func() bool { return r.field(room.TableRuns, run, "status") != "" })
	next := take(begin.epoch, begin.frame.Rev)
	if next.frame.Full || next.frame.Rev <= begin.frame.Rev {
		t.Errorf("resumed with %+v", next.frame)
	}
	for _, set := range next.frame.Set {
		if set.Table == room.TablePeople || set.Table == room.TableTalk {
			t.Errorf("%s of %s did not change", set.ID, set.Table)
		}
	}
	if other := take("00000000", begin.frame.Rev); !other.frame.Full {
		t.Error("a revision of another room was resumed")
	}
	if ahead := take(begin.epoch, next.frame.Rev+1000); !ahead.frame.Full {
		t.Error("a revision that has not been was resumed")
	}
}

// freshRoom returns the rows of a new room.read.
func (b bystander) freshRoom() map[room.Key]map[string]string {
	b.t.Helper()
	var read struct{ Rows [][3]json.RawMessage }
	b.read(b.must("room.read", `{"workspace_dir":"DIR","runs_limit":50}`), &read)
	rows := map[room.Key]map[string]string{}
	for _, row := range read.Rows {
		var key room.Key
		var fields map[string]json.RawMessage
		for i, into := range []any{&key.Table, &key.ID, &fields} {
			if err := json.Unmarshal(row[i], into); err != nil {
				b.t.Fatal(err)
			}
		}
		rows[key] = map[string]string{}
		for name, value := range fields {
			rows[key][name] = string(value)
		}
	}
	return rows
}

// TestRoomNamesJobs checks that the row of a job's attempt names the job, also in a page of older
// runs.
func TestRoomNamesJobs(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run, other := b.run(), b.run()
	r := b.follow()
	r.settled("itself", r.same)
	if got := r.field(room.TableRuns, run, "job"); got != "" {
		t.Errorf("a run without a job has %s", got)
	}
	at := "2026-11-20T15:02:47.930Z"
	b.write("work/projects/"+b.project+"/jobs/job_1/job.yaml", "schema_version: 1\ntype: job_record\njob: {job_id: job_1, worker_kind: codex, worker_agent_id: a, workspace_dir: /x, project_id: "+b.project+
		", goal: g, constraints: [], deliverables: [], permission_level: read-only, context_refs: []}\ncreated_at: "+at+"\nupdated_at: "+at+
		"\nstatus: running\ncancellation_requested: false\ncurrent_attempt: 1\nattempts:\n  - {attempt: 1, run_id: "+run+
		", context_pack_id: c, session_ref: s, worker_kind: codex, worker_agent_id: a, provider: codex, started_at: "+at+", status: running}\n")
	r.settled("the job of its run", func() bool { return r.field(room.TableRuns, run, "job") == `"job_1"` && r.same() })
	b.must("run.discard", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`"}`)
	r.settled("the end of the run", func() bool { return r.field(room.TableRuns, run, "status") == `"stopped"` })
	if got := r.field(room.TableRuns, run, "job"); got != `"job_1"` {
		t.Errorf("after its end the job of the run is %s", got)
	}
	older := b.must("room.read", `{"workspace_dir":"DIR","before":"2999-01-01T00:00:00Z"}`)
	if !strings.Contains(older, `"job":"job_1"`) || strings.Count(older, `"job":`) != 1 || !strings.Contains(older, other) {
		t.Errorf("a page of runs: %s", older)
	}
}

// TestRoomHeedsEvents checks that the tables show what only a run's log contains, also after the
// log is replaced.
func TestRoomHeedsEvents(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run := b.run()
	r := b.follow()
	r.settled("itself", r.same)
	name := "work/projects/" + b.project + "/runs/" + run + "/events.jsonl"
	before := b.log(run)
	event := func(kind, payload string) string {
		return fmt.Sprintf(`{"type":%q,"run_id":%q,"session_ref":"s","ts_wallclock":"2026-11-20T15:00:01.000Z","payload":%s}`+"\n", kind, run, payload)
	}
	raw := event("provider.raw", `{"stream":"stdout","chunk":"x\n"}`)
	b.write(name, before+strings.Repeat(raw, 200))
	r.settled("what it printed", r.same)
	broken := func() bool { return r.field(room.TableNeeds, "broken_log:"+run, "kind") == `"broken_log"` }
	b.write(name, before+strings.Repeat(raw, 200)+event("run.log_tampered", `{}`)+raw)
	r.settled("what only its log says", broken)
	b.write(name, before)
	r.settled("the log that was put back", func() bool { return !broken() && r.same() })
	b.write(name, before+"no event\n")
	r.settled("a line that is no event", broken)
}

// TestRoomHasOlderRunsThatChange checks that a run beyond the room's limit is shown once it
// changes.
func TestRoomHasOlderRunsThatChange(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	var runs []string
	for range 4 {
		run := b.run()
		b.must("run.discard", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`"}`)
		runs = append(runs, run)
	}
	r := b.followNewest(1)
	r.settled("the newest run", func() bool { return r.field(room.TableRuns, runs[3], "status") != "" })
	if got := r.field(room.TableRuns, runs[0], "status"); got != "" {
		t.Errorf("the oldest run is there already: %s", got)
	}
	b.must("comment.add", `{"workspace_dir":"DIR","project_id":"PROJECT","author_id":"human","author_role":"human","target_run_id":"`+runs[0]+`","body":"look"}`)
	r.settled("the run that was commented on", func() bool { return r.field(room.TableRuns, runs[0], "status") != "" })
}
