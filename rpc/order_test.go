package rpc

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ac/workspace"
)

// placed is a request of the model.
type placed struct {
	access  Access
	keys    []string
	before  []<-chan struct{}
	leave   func()
	started bool
	left    bool
}

func (p *placed) changes() bool { return p.access == Write || p.access == Inline }

// free reports whether everything that the request must wait for is done.
func (p *placed) free() bool {
	for _, done := range p.before {
		select {
		case <-done:
		default:
			return false
		}
	}
	return true
}

// mayStart is the model: a request may start once every earlier conflicting
// change has left.
func mayStart(all []*placed, i int) bool {
	for _, earlier := range all[:i] {
		if !earlier.changes() || earlier.left {
			continue
		}
		for _, a := range earlier.keys {
			for _, b := range all[i].keys {
				ofSubscriptions := isOwn(a) || isOwn(b)
				if a == b || (!ofSubscriptions && (a == everywhere || b == everywhere)) {
					return false
				}
			}
		}
	}
	return true
}

// TestOrderAgreesWithModel admits, starts and ends requests at random. After each
// step, order and model must agree on which requests may start.
func TestOrderAgreesWithModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := newOrder()
		var all []*placed
		workspaces := rapid.SampledFrom([]string{"/a", "/b", everywhere})
		access := rapid.SampledFrom([]Access{Read, Write, Wait, Write})
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(all) == 0 || rapid.Bool().Draw(t, "admit") {
				p := &placed{access: access.Draw(t, "access"), keys: []string{workspaces.Draw(t, "workspace")}}
				if rapid.IntRange(0, 3).Draw(t, "stream") == 0 {
					p.access = Inline
					p.keys = []string{subscriptionKey + rapid.SampledFrom([]string{"s", "t"}).Draw(t, "subscription")}
					if rapid.Bool().Draw(t, "of a workspace") {
						p.keys = append(p.keys, rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "workspace"))
					}
				}
				p.before, p.leave = o.admit(p.access, p.keys, nil)
				all = append(all, p)
			} else {
				p := all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
				if p.started = p.started || p.free(); p.started {
					p.leave()
					p.leave() // is idempotent
					p.left = true
				}
			}
			for i, p := range all {
				if may := mayStart(all, i); !p.started && p.free() != may {
					t.Fatalf("step %d: request %d %v %v is free %v, may start %v", step, i, p.access, p.keys, p.free(), may)
				}
			}
		}
		for _, p := range all {
			p.leave()
		}
		if len(o.tails) > 0 {
			t.Fatalf("left behind: %v", slices.Collect(maps.Keys(o.tails)))
		}
	})
}

func TestPipelined(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	in := object{"workspace_dir": filepath.Join(t.TempDir(), "ws")}
	spelled := object{"workspace_dir": in["workspace_dir"].(string) + "/../ws/"}
	create := func(i int) object {
		return object{"workspace_dir": in["workspace_dir"], "name": fmt.Sprint("P", i)}
	}
	asked := []string{p.post("workspace.init", in), p.post("workspace.open", spelled)}
	for i := range 5 {
		asked = append(asked, p.post("workspace.project.create_with_defaults", create(i)), p.post("workspace.projects.list", spelled))
	}
	answers := p.await(asked...)
	var opened struct{ Valid bool }
	p.decode(answers[asked[1]], &opened)
	if !opened.Valid {
		t.Error("open did not see init")
	}
	for i := range 5 {
		var list struct{ Projects []struct{ Name string } }
		p.decode(answers[asked[3+2*i]], &list)
		// The list may include later projects: a read does not delay writes.
		if len(list.Projects) < i+1 || !slices.ContainsFunc(list.Projects, func(r struct{ Name string }) bool { return r.Name == fmt.Sprint("P", i) }) {
			t.Errorf("list %d: %v", i, list.Projects)
		}
	}
}

// TestTickIsSeen pipelines a config change, a tick and a status request. The tick
// must see the new config, and the status must report the tick.
func TestTickIsSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.valid["heartbeat.status"]
	for i := range 5 {
		set, tick := maps.Clone(in), maps.Clone(in)
		set["enabled"], tick["reason"] = i%2 == 0, fmt.Sprint("tick ", i)
		asked := []string{b.peer.post("heartbeat.config.set", set), b.peer.post("heartbeat.tick", tick), b.peer.post("heartbeat.status", in)}
		answers := b.peer.await(asked...)
		var summary struct{ Enabled bool }
		b.peer.decode(answers[asked[1]], &summary)
		var status struct {
			State struct {
				LastTickReason string `json:"last_tick_reason"`
			}
		}
		b.peer.decode(answers[asked[2]], &status)
		if summary.Enabled != (i%2 == 0) || status.State.LastTickReason != tick["reason"] {
			t.Errorf("%d: %+v, %+v", i, summary, status)
		}
	}
}

func TestCollectHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	launch := maps.Clone(b.valid["session.launch"])
	launch["argv"] = []any{"sleep", "60"}
	ref := object{"session_ref": b.valid["session.poll"]["session_ref"]}
	launched, collected := b.peer.post("session.launch", launch), b.peer.post("session.collect", b.valid["session.collect"])
	polled := b.peer.post("session.poll", ref)
	answers := b.peer.await(launched, polled)
	var poll struct{ Status string }
	if b.peer.decode(answers[polled], &poll); poll.Status != "running" {
		t.Errorf("polled: %s", poll.Status)
	}
	stopped := b.peer.post("session.stop", ref)
	b.peer.decode(b.peer.await(stopped, collected)[collected], &poll)
	if poll.Status != "stopped" {
		t.Errorf("collected: %s", poll.Status)
	}
}

// TestSlowWorkspaceHoldsUpOnlyItself locks one workspace, as another program may.
// Requests for other workspaces must not wait.
func TestSlowWorkspaceHoldsUpOnlyItself(t *testing.T) {
	t.Parallel()
	slow, quick := newBench(t), filepath.Join(t.TempDir(), "quick")
	p := slow.peer
	release := lockWorkspace(t, slow.dir)
	defer release()

	create := p.post("workspace.project.create_with_defaults", slow.valid["workspace.project.create_with_defaults"])
	list := p.post("workspace.projects.list", slow.valid["workspace.projects.list"])
	subscribe := p.post("events.subscribe", slow.valid["events.subscribe"])
	ack := p.post("events.ack", slow.valid["events.ack"])
	unsubscribe := p.post("events.unsubscribe", slow.valid["events.ack"])

	in := object{"workspace_dir": quick}
	p.call("workspace.init", in, nil)
	p.call("system.ping", nil, nil)
	p.call("events.subscribe", object{"workspace_dir": quick, "subscription_id": "q"}, nil)
	p.call("events.unsubscribe", object{"subscription_id": "q"}, nil)
	p.call("events.subscribe", object{"subscription_id": "everywhere"}, nil)
	p.call("workspace.agents.list", in, nil)
	release() // no call above waited for it
	answers := p.await(create, list, subscribe, ack, unsubscribe)
	var projects struct{ Projects []any }
	if p.decode(answers[list], &projects); len(projects.Projects) != 2 {
		t.Errorf("the list behind the slow write has %d projects", len(projects.Projects))
	}
	var removed struct{ Removed bool }
	if p.decode(answers[unsubscribe], &removed); !removed.Removed {
		t.Error("unsubscribe did not see the subscription before it")
	}
	p.decode(answers[ack], nil)
}

// lockWorkspace holds the write lock until release is called.
func lockWorkspace(t *testing.T, dir string) (release func()) {
	t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	held, let, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- w.Update(context.Background(), func(*workspace.Unit) error {
			close(held)
			<-let
			return nil
		})
	}()
	<-held
	released := false
	return func() {
		if released {
			return
		}
		released = true
		close(let)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
