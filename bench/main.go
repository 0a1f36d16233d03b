// Command bench measures ac against the machine it runs on. It prints each figure with its target
// and with a limit measured in the same run. Limits are, for example, a bare pipe, SHA-256 or
// fdatasync.
//
// It builds the real program into a temporary folder, works only there, and removes the folder at
// the end. Missed targets are marked MISSED and are not failures. The exit status is 1 if something
// could not be measured.
//
// It is a separate module: nothing in it ships, and it needs packages that ac does not.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience is the time limit of a measurement.
const patience = 3 * time.Minute

// measurement is a group of figures that are measured together.
type measurement struct {
	name string
	run  func(context.Context, *bench) ([]figure, error)
	// within overrides patience if it is not 0.
	within time.Duration
}

func measurements() []measurement {
	return []measurement{
		{name: "start", run: measureStart},
		{name: "call", run: measureCall},
		{name: "pipeline", run: measurePipeline},
		{name: "oneshot", run: measureOneShot},
		{name: "event", run: measureEvent},
		{name: "writers", run: measureWriters},
		{name: "grouped", run: measureGrouped},
		{name: "verify", run: measureVerify},
		{name: "launch", run: measureLaunch},
		{name: "jobs", run: measureJobs},
		{name: "heartbeat", run: measureHeartbeat},
		{name: "supervisor", run: measureSupervisor},
		{name: "recording", run: measureRecording},
		{name: "idle", run: measureIdle},
		{name: "workspace", run: measureWorkspace},
		{name: "organisation", run: measureOrganisation},
		{name: "project", run: measureProject},
		{name: "runs", run: measureRuns},
		{name: "budgets", run: measureBudgets},
		{name: "governance", run: measureGovernance},
		{name: "snapshots", run: measureSnapshots},
		{name: "lists", run: measureLists},
		{name: "web", run: measureWeb},
		{name: "messages", run: measureMessages},
		{name: "index", run: measureIndex},
	}
}

// conversations returns the measurements of conversations with agents. They have a separate table
// because two hundred conversations keep a machine busy for minutes.
func conversations() []measurement {
	return []measurement{{name: "live", run: measureLive}, {name: "crowd", run: measureCrowd}}
}

// fleets returns the measurements of sessions on other machines. They have a separate table because
// they need a second program.
func fleets() []measurement {
	return []measurement{
		{name: "machines", run: measureMachines, within: 2 * patience}, {name: "drafts", run: measureDrafts},
		{name: "results", run: measureResults, within: 5 * patience}, {name: "workers", run: measureIdleWorkers, within: 5 * patience},
	}
}

// bench is the state that the measurements share.
type bench struct {
	dir     string // the temporary folder
	program string // the built ac
}

// path returns the path of a name in the temporary folder.
func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// order holds the options of the command line.
type order struct {
	only   string
	asJSON bool
	growth bool
	talk   bool
	fleet  bool
	before string // an earlier revision to compare with, or ""
	page   string // a page to write the table to, or ""
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == agentWord {
		if err := speak(); err != nil {
			os.Exit(1)
		}
		return
	}
	var o order
	flag.BoolVar(&o.asJSON, "json", false, "print the figures as JSON")
	flag.StringVar(&o.only, "only", "", "measure only these groups, separated by commas: "+names())
	flag.BoolVar(&o.growth, "growth", false, "measure instead how cost grows with the number of runs and events, which takes some minutes and three gigabytes")
	flag.BoolVar(&o.talk, "conversations", false, "measure instead conversations with agents: live and crowd")
	flag.BoolVar(&o.fleet, "machines", false, "measure instead sessions on other machines")
	flag.StringVar(&o.before, "before", "", "measure this earlier revision too, group by group in turn, and print both")
	flag.StringVar(&o.page, "write", "", "also put the table into this page, between the marks of its name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		os.Exit(1)
	}
}

func names() string {
	known := slices.Concat(measurements(), conversations(), fleets())
	all := make([]string, 0, len(known))
	for _, m := range known {
		all = append(all, m.name)
	}
	return strings.Join(all, " ")
}

func run(ctx context.Context, o order) (err error) {
	if o.only != "" && (o.page != "" || o.growth || o.talk || o.fleet) {
		return errors.New("--only goes with no other choice and not with --write: a page has all figures")
	}
	if o.before != "" && (o.asJSON || o.growth || o.talk || o.fleet) {
		return errors.New("--before goes with --only or --write alone")
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ac-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{dir: dir, program: filepath.Join(dir, "ac")}
	if err := b.build(ctx); err != nil {
		return err
	}
	if o.before != "" {
		return b.compare(ctx, o.before, chosen, o.page)
	}
	figures := conditions("at the beginning")
	name := "figures"
	if o.talk {
		name, chosen = "conversations", conversations()
	}
	if o.fleet {
		name, chosen = "machines", fleets()
	}
	if o.growth {
		name, chosen = "growth", nil
		found, failed := measureGrowth(ctx, b)
		figures, err = append(figures, found...), failed
	}
	for _, m := range chosen {
		fmt.Fprintf(os.Stderr, "measuring %s\n", m.name)
		found, failed := b.measure(ctx, m)
		figures = append(figures, found...)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", m.name, failed))
		}
		if ctx.Err() != nil {
			break
		}
	}
	figures = append(figures, conditions("at the end")...)
	err = errors.Join(err, printReport(os.Stdout, figures, o.asJSON))
	if o.page != "" && err == nil {
		table := markdown
		if o.growth {
			table = growthTable
		}
		err = writeTable(o.page, name, table(figures))
	}
	return err
}

// measure runs one measurement within its time limit.
func (b *bench) measure(ctx context.Context, m measurement) ([]figure, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.within, patience))
	defer cancel()
	return m.run(ctx, b)
}

func choose(only string) ([]measurement, error) {
	if only == "" {
		return measurements(), nil
	}
	var chosen []measurement
	for name := range strings.SplitSeq(only, ",") {
		before := len(chosen)
		for _, m := range slices.Concat(measurements(), conversations(), fleets()) {
			if m.name == strings.TrimSpace(name) {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("nothing is called %q; there are: %s", name, names())
		}
	}
	return chosen, nil
}

// build builds the real program from the measured module.
func (b *bench) build(ctx context.Context) error { return b.buildProgram(ctx, "./cmd/ac", b.program) }

// buildProgram builds a program of the measured module.
func (b *bench) buildProgram(ctx context.Context, command, program string) error {
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "ac").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, command)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // one static file, as in releases
	cmd.Dir = strings.TrimSpace(string(where))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", command, err)
	}
	return nil
}
