package workspace

// Units that a crash interrupted: how they are described, finished, rolled back and quarantined.

import "testing"

// TestStepsOfInterruptedUnit pins the description of each kind of operation.
func TestStepsOfInterruptedUnit(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]operation{
		"write company/a.yaml, 2 bytes":                           {Kind: opWrite, Name: "company/a.yaml", Content: []byte("a\n")},
		"remove company/a.yaml":                                   {Kind: opRemove, Name: "company/a.yaml"},
		"put org/teams/team_x in place":                           {Kind: opRename, Name: "org/teams/team_x"},
		"replace work with its staged tree":                       {Kind: opExchange, Name: "work"},
		"apply the files of checkpoint work/checkpoints/p/ckpt_1": {Kind: opFiles, Name: "work/checkpoints/p/ckpt_1"},
		"append 2 events to work/projects/p/runs/r/events.jsonl":  {Kind: opAppend, Name: "work/projects/p/runs/r/events.jsonl", Drafts: make([]draftRecord, 2)},
	} {
		if got := op.String(); got != want {
			t.Errorf("%s: %q, want %q", op.Kind, got, want)
		}
	}
}
