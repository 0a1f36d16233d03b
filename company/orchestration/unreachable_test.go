package orchestration

import (
	"encoding/json"
	"testing"
	"time"

	"ac/company"
	"ac/company/decisions"
	"ac/fleet"
	"ac/fleet/fleettest"
	"ac/governance/needs"
	"ac/runs/session"
	"ac/workspace/doc"
)

// TestUnreachable checks that a session needs a decision once its machine has been silent for more
// than half of the lease. Snapshots show its worker and the state of the machines.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	resources, err := y.c.Resources(t.Context(), company.ResourcesParams{})
	if err != nil || resources.Machines != nil {
		t.Errorf("machines without a hub: %+v: %v", resources.Machines, err)
	}
	y.joined(t)
	ref := y.away(t, doc.ReachUnreachable)
	silent := func(since time.Duration) {
		t.Helper()
		record, err := session.Read(y.c.Workspace(), ref)
		if err != nil {
			t.Fatal(err)
		}
		record.UnreachableSinceMS = new(time.Now().Add(-since).UnixMilli())
		text, err := doc.SessionCodec.Encode(record)
		if err != nil {
			t.Fatal(err)
		}
		y.keep(t, ".local/sessions/"+ref+".yaml", string(text))
	}
	record, err := session.Read(y.c.Workspace(), ref)
	if err != nil {
		t.Fatal(err)
	}
	attempt, err := fleet.ReadAttempt(y.c.Workspace().FS, fleet.Attempt(y.project, record.RunID, ref, 1))
	if err != nil {
		t.Fatal(err)
	}
	attempt.LeaseS, attempt.OnCutOff = 3600, doc.CutOffStop
	if err := fleet.WriteAttempt(y.c.Workspace(), attempt); err != nil {
		t.Fatal(err)
	}
	waiting := func() (list []needs.Need) {
		t.Helper()
		found, err := decisions.Operations{In: y.c.In}.ListNeeds(t.Context(), decisions.ListNeedsParams{Kinds: []string{needs.Unreachable}, State: "open", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return found.Needs
	}
	silent(20 * time.Minute)
	if list := waiting(); len(list) != 0 {
		t.Errorf("before half of the lease: %+v", list)
	}
	silent(40 * time.Minute)
	if list := waiting(); len(list) != 1 || list[0].NeedID != "unreachable:"+record.RunID || list[0].Severity != 1 {
		t.Errorf("after half of the lease: %+v", list)
	}
	fleettest.Start(t, y.c.Workspace(), func(string, json.RawMessage) (any, error) {
		return fleet.StatusResult{Running: true, Workers: fleet.WorkerCounts{Active: 2, Offline: 1}, Slots: fleet.SlotCounts{Total: 8, Used: 3}, Queue: fleet.QueueCounts{Waiting: 4}}, nil
	})
	if resources, err = y.c.Resources(t.Context(), company.ResourcesParams{}); err != nil || resources.Machines == nil {
		t.Fatalf("%+v: %v", resources.Machines, err)
	}
	if m := *resources.Machines; m.Workers != 3 || m.Online != 2 || m.SlotsTotal != 8 || m.SlotsUsed != 3 || m.Waiting != 4 {
		t.Errorf("%+v", m)
	}
	monitor, err := y.c.Monitor(t.Context(), company.MonitorParams{Limit: 10})
	if err != nil || len(monitor.Rows) != 1 || monitor.Rows[0].WorkerName != "box" || monitor.Rows[0].Reach != doc.ReachUnreachable {
		t.Errorf("%+v: %v", monitor.Rows, err)
	}
}
