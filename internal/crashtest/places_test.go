package crashtest

// Kills of the processes that put whole workspaces in place.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/company/maintenance"
	"ac/company/provisioning"
	"ac/events"
	"ac/workspace"
	"ac/workspace/validate"
)

var placeKills = flag.Int("place-kills", 6, "how many processes of each kind are killed that put a workspace in place")

// placeCommand makes the test binary such a process. Its arguments are the operation and
// its directories.
const placeCommand = "place"

// newHost returns the host of a process that may be killed. It waits up to a minute for locks.
func newHost() (*company.Host, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := workspace.SystemEnv()
	env.LockPatience = time.Minute
	return company.New(company.Options{Env: env, Executable: executable}), nil
}

func place(args []string) (err error) {
	all, err := newHost()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	ctx, c := context.Background(), folderAt(all, args[1])
	in := company.Dir{WorkspaceDir: args[1]}
	switch args[0] {
	case "init":
		_, err = c.Init(ctx, provisioning.InitParams{Dir: in, CompanyName: "Acme"})
	case "bootstrap":
		_, err = c.Bootstrap(ctx, provisioning.BootstrapParams{Departments: []string{"qa", "data"}, Force: true})
	case "migrate":
		_, err = company.Do(ctx, all, maintenance.Operations.Migrate, maintenance.MigrateParams{Dir: in})
	case "export":
		_, err = folderAt(all, args[2]).Export(ctx, provisioning.ExportParams{Dir: in, OutDir: args[2], Force: true, IncludeLocal: true})
	case "import":
		_, err = folderAt(all, args[2]).Import(ctx, provisioning.ImportParams{Dir: company.Dir{WorkspaceDir: args[2]}, SrcDir: args[1], Force: true})
	}
	return err
}

// placing runs such a process and kills it after a delay. A negative delay lets it finish.
func placing(t *testing.T, delay time.Duration, args ...string) (took time.Duration) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, append([]string{placeCommand}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if delay >= 0 {
		time.Sleep(delay) // the random moment itself
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, or over
		for _, dir := range args[1:] {
			old := time.Now().Add(-3 * time.Minute)
			_ = os.Chtimes(filepath.Join(dir, ".local/locks/workspace.write.lock"), old, old) // none is fine
		}
		return 0
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	return time.Since(began)
}

// TestKilledPlaces kills each operation at random moments. A workspace that existed, or
// exists now, must open and be whole. The next process must complete the operation.
func TestKilledPlaces(t *testing.T) {
	t.Parallel()
	drawn := uint64(time.Now().UnixNano())
	t.Logf("seed %d", drawn)
	for i, op := range []string{"init", "bootstrap", "migrate", "export", "import"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(drawn, uint64(i)))
			p := &places{t: t, op: op, dir: workspace.Canonical(t.TempDir())}
			took := placing(t, -1, p.stage()...)
			there := 0
			for range *placeKills {
				args := p.stage()
				placing(t, time.Duration(r.Int64N(int64(took)*5/4)), args...)
				if p.check(args[len(args)-1]) {
					there++
				}
				p.finish(args)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d of %d were there; one takes %s", there, *placeKills, took)
		})
	}
}

// places stages the operations of one kind.
type places struct {
	t   *testing.T
	op  string
	dir string
	n   int
}

// stage prepares what the next process works on and returns its arguments. The last
// one is the place.
func (p *places) stage() []string {
	p.t.Helper()
	p.n++
	at := filepath.Join(p.dir, fmt.Sprint("w", p.n))
	if p.op == "init" {
		if p.n%2 == 0 {
			p.must(os.Mkdir(at, 0o750))
		}
		return []string{p.op, at}
	}
	p.company(at, "Old")
	switch p.op {
	case "bootstrap":
		p.must(os.WriteFile(filepath.Join(at, "README"), nil, 0o600))
	case "migrate":
		p.oldLogs(at)
	default:
		source := at + "-source"
		p.company(source, "New")
		return []string{p.op, source, at}
	}
	return []string{p.op, at}
}

func (p *places) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *places) company(dir, name string) {
	p.t.Helper()
	p.must(workspace.Create(p.t.Context(), workspace.SystemEnv(), dir, workspace.CreateOptions{CompanyName: name, Build: func(w *workspace.Workspace) error {
		_, err := w.CreateProjectWithDefaults(p.t.Context(), name, "", nil)
		return err
	}}))
}

const oldEvents = 400

func (p *places) oldLogs(dir string) {
	p.t.Helper()
	var text strings.Builder
	for i := range oldEvents {
		fmt.Fprintf(&text, `{"type":"note","ts_wallclock":"2026-02-01T00:00:00.000Z","actor":"a","visibility":"org","payload":%d}`+"\n", i)
	}
	for i := range 3 {
		name := filepath.Join(dir, workspace.LogFile("proj_x", fmt.Sprint("run_", i)))
		p.must(os.MkdirAll(filepath.Dir(name), 0o750))
		p.must(os.WriteFile(name, []byte(text.String()), 0o600))
	}
}

// check checks the place after a kill and reports whether it holds a workspace.
func (p *places) check(at string) bool {
	p.t.Helper()
	env := workspace.SystemEnv()
	env.LockPatience = time.Minute
	w, err := workspace.Open(env, at)
	if err != nil {
		if p.op != "init" {
			p.t.Errorf("there is no workspace any more: %v", err)
		}
		return false
	}
	defer func() { p.must(w.Close()) }()
	if p.op != "migrate" { // its runs have only logs
		p.valid(env, at)
	}
	p.must(w.Recover(p.t.Context()))
	identity, err := w.Company()
	p.must(err)
	projects, err := w.Projects()
	p.must(err)
	switch {
	case p.op == "migrate":
		p.logs(w)
	case p.op == "init":
	case len(projects) != 1:
		p.t.Errorf("%d projects", len(projects))
	case p.op == "bootstrap":
		_, err := os.Stat(filepath.Join(at, "README"))
		p.must(err)
		if (identity.Name == "Old") != (projects[0].Name == "Old") {
			p.t.Errorf("%s has the project %s", identity.Name, projects[0].Name)
		}
	case identity.Name != projects[0].Name:
		p.t.Errorf("%s has the project %s", identity.Name, projects[0].Name)
	}
	return true
}

func (p *places) valid(env workspace.Env, at string) {
	p.t.Helper()
	for _, issue := range validate.Folder(env, at).Issues {
		p.t.Errorf("%+v", issue)
	}
}

// logs checks that each log is either entirely old or entirely migrated.
func (p *places) logs(w *workspace.Workspace) {
	p.t.Helper()
	for i := range 3 {
		text, err := w.Read(workspace.LogFile("proj_x", fmt.Sprint("run_", i)))
		p.must(err)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		sealed := strings.Count(string(text), `"event_hash":"`)
		if len(lines) != oldEvents || (sealed != 0 && sealed != oldEvents) {
			p.t.Errorf("%d lines, %d of them sealed", len(lines), sealed)
		}
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				p.t.Fatalf("torn: %s", line)
			}
		}
	}
}

// finish completes the interrupted operation and checks that nothing is left behind.
func (p *places) finish(args []string) {
	p.t.Helper()
	at := args[len(args)-1]
	if _, err := os.Stat(filepath.Join(at, workspace.CompanyFile)); p.op == "init" && err == nil {
		return
	}
	placing(p.t, -1, args...)
	env := workspace.SystemEnv()
	if p.op == "migrate" {
		w, err := workspace.Open(env, at)
		p.must(err)
		p.logs(w)
		for i := range 3 {
			text, err := w.Read(workspace.LogFile("proj_x", fmt.Sprint("run_", i)))
			p.must(err)
			report, err := events.Verify(strings.NewReader(string(text)), nil, false, nil)
			if err != nil || !report.Sound() {
				p.t.Errorf("not sealed: %v", err)
			}
		}
		p.must(w.Close())
		return
	}
	p.valid(env, at)
	beside, err := filepath.Glob(at + ".tmp-*")
	p.must(err)
	within, err := filepath.Glob(filepath.Join(at, ".workspace.tmp-*"))
	p.must(err)
	if left := slices.Concat(beside, within); len(left) > 0 {
		p.t.Errorf("left: %v", left)
	}
}
