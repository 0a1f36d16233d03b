package main

// Simulated machines for the programs under test, with another clock or another release.

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// machine describes a simulated machine. Programs started there read it from a file beside them.
type machine struct {
	Ahead   time.Duration  // how far its wall clock is ahead
	Version string         // of its programs; "" means this program's
	Speaks  fleet.Versions // of its ac-hub; zero means this program's
	// OtherOrders means that its ac accepts another order version than its ac-hub sends.
	OtherOrders bool
}

// machineFile is the name of the file beside the programs.
const machineFile = "machine.json"

// playedMachine returns the machine on which this program was started.
func playedMachine() (m machine, err error) {
	executable, err := os.Executable()
	if err != nil {
		return m, err
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(executable), machineFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// clock returns the machine's clock.
func (m machine) clock() *clock.Clock {
	return clock.New(func() time.Time { return time.Now().Add(m.Ahead) }, 0)
}

// playHub stands in for ac-hub.
func playHub(args []string) int {
	m, err := playedMachine()
	if err != nil {
		return exitCode(err)
	}
	a := &app{version: m.Version, env: workspace.EnvAt(m.clock()), speaks: m.Speaks}
	if a.version == "" {
		a.version = buildVersion()
	}
	if a.speaks == (fleet.Versions{}) {
		a.speaks = fleet.Speaks()
	}
	return start(args, a)
}

// playSupervisor stands in for the hidden command of ac that supervises a session.
func playSupervisor() error {
	m, err := playedMachine()
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if m.OtherOrders {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		var order map[string]any
		if err := json.Unmarshal(text, &order); err != nil {
			return err
		}
		order["version"] = session.OrderVersion + 1
		if text, err = json.Marshal(order); err != nil {
			return err
		}
		in = strings.NewReader(string(text))
	}
	return supervisor.MainFor(supervisor.Host{Executable: executable, Interrupt: make(chan struct{}), Clock: m.clock()}, in, os.Stdout)
}

// machines assigns machines to the hub, named "hub", and to workers by name. Call it before
// starting them.
func (c *company) machines(of map[string]machine) {
	c.t.Helper()
	bins := map[string]string{}
	for name, m := range of {
		bins[name] = c.t.TempDir()
		for _, program := range []string{"ac", "ac-hub"} {
			if err := link(os.Getenv(programVariable), filepath.Join(bins[name], program)); err != nil {
				c.t.Fatal(err)
			}
		}
		c.change(bins[name], m)
	}
	c.bins = bins
	c.place = func(cmd *exec.Cmd) {
		name := "hub"
		if i := slices.Index(cmd.Args, "--dir"); i >= 0 {
			name = filepath.Base(cmd.Args[i+1])
		}
		if bin := bins[name]; bin != "" {
			cmd.Path = filepath.Join(bin, "ac-hub")
			cmd.Args[0] = cmd.Path
		}
	}
}

// change replaces the machine of the programs in bin. It affects programs started afterwards.
func (c *company) change(bin string, m machine) {
	c.t.Helper()
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, machineFile), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// begin starts a worker without waiting until it is ready, since its hub may refuse it.
func (c *company) begin(name string) *process {
	c.t.Helper()
	p := &process{cmd: c.command("worker:start", "--dir", c.folders[name], "--min-free", "1"), stderr: &output{}, exited: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = proc.NewGroup()
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { // ends with the process
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	c.workers[name] = p
	return p
}

// newCompanyOfMachines returns a company whose hub and workers have simulated machines.
func newCompanyOfMachines(t *testing.T, of map[string]machine, hubArgs ...string) *company {
	t.Helper()
	c := makeCompany(t)
	c.hubArgs = append(c.hubArgs, hubArgs...)
	c.machines(of)
	t.Cleanup(c.end)
	c.startHub()
	return c
}

// row returns a worker's row of the hub's list.
func (c *company) row(name string) fleet.WorkerRow {
	c.t.Helper()
	var list fleet.WorkersResult
	c.ask(fleet.HubWorkers, struct{}{}, &list)
	i := slices.IndexFunc(list.Workers, func(r fleet.WorkerRow) bool { return r.Name == name })
	if i < 0 {
		c.t.Fatalf("there is no worker %s", name)
	}
	return list.Workers[i]
}

// timed is an event of a log with its times.
type timed struct {
	Type    string          `json:"type"`
	At      string          `json:"ts_wallclock"`
	Mono    int64           `json:"ts_monotonic_ms"`
	Payload json.RawMessage `json:"payload"`
}

// events returns the events of a session's log.
func (c *company) events(order session.Order) (all []timed) {
	c.t.Helper()
	err := session.EachEvent(c.w, workspace.LogFile(order.ProjectID, order.RunID), func(_ string, line []byte) {
		var e timed
		if err := json.Unmarshal(line, &e); err != nil {
			c.t.Error(err)
		}
		all = append(all, e)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}
