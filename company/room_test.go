package company_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/company"
	"ac/snapshot/room"
)

// roomReader applies the frames of the room that it gets.
type roomReader struct {
	mu     sync.Mutex
	rows   map[room.Key]map[string]string
	frames int
	got    chan struct{} // after each frame
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

// TestRoomFollows holds the rows of a reader, after changes of logs and documents by
// whomever, to what a fresh look has.
func TestRoomFollows(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	r := &roomReader{rows: map[room.Key]map[string]string{}, got: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		folder := b.all.In(b.dir)
		c, err := folder.Enter(ctx)
		if err == nil {
			err = c.FollowRoom(ctx, company.RoomStream{RunsLimit: 50, Deliver: r.deliver})
		}
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	settled := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.After(30 * time.Second); ; {
			if is() {
				return
			}
			select {
			case <-r.got:
			case <-deadline:
				t.Fatalf("the room does not show %s:\n%s", what, cmp.Diff(b.freshRoom(), r.rows))
			}
		}
	}
	same := func() bool {
		fresh := b.freshRoom()
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.rows) > 0 && cmp.Equal(fresh, r.rows)
	}
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

// freshRoom are the rows as somebody sees them who begins now.
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
