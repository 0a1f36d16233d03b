package execution

// The options of a launch that select a machine.

import (
	"time"

	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/workspace/doc"
)

// PlacementFlags holds the options --on, --on-label and --on-wait.
type PlacementFlags struct {
	on     string
	labels []string
	wait   time.Duration
}

// Add declares the options.
func (o *PlacementFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&o.on, "on", "", "the machine: local, remote, any, or the name of a worker")
	flags.StringArrayVar(&o.labels, "on-label", nil, "a label that the worker must have (repeatable)")
	flags.DurationVar(&o.wait, "on-wait", 0, "how long to wait for a worker: 10m")
}

// Placement returns the placement that the options select, nil if none is set.
func (o *PlacementFlags) Placement(flags *pflag.FlagSet) (*doc.Placement, error) {
	if !flags.Changed("on") && len(o.labels) == 0 && !flags.Changed("on-wait") {
		return nil, nil //nolint:nilnil // neither said nor wrong
	}
	p := &doc.Placement{Where: o.on, Labels: o.labels}
	switch o.on {
	case "":
		p.Where = doc.WhereRemote // a label or a wait implies another machine
	case doc.WhereLocal, doc.WhereRemote, doc.WhereAny:
	default:
		p.Where, p.WorkerID = doc.WhereRemote, o.on
	}
	if o.wait < 0 {
		return nil, cli.UsageError{Message: "--on-wait must not be negative"}
	}
	if p.Where == doc.WhereLocal && (len(o.labels) > 0 || flags.Changed("on-wait")) {
		return nil, cli.UsageError{Message: "--on-label and --on-wait are for other machines"}
	}
	if p.WorkerID != "" && !doc.IsWorker(p.WorkerID) && !doc.IsWorkerName(p.WorkerID) {
		return nil, cli.UsageError{Message: "--on must be local, remote, any, or the name of a worker"}
	}
	if flags.Changed("on-wait") {
		p.WaitS = new(int64(o.wait / time.Second))
	}
	return p, nil
}
