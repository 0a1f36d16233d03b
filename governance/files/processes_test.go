package files

// Applies from concurrent processes, and crashes during an apply.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// roleVariable names the environment variable that makes the test binary play a process of a test.
const roleVariable = "AC_FILES_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	runtimetest.InMemory()
	os.Exit(m.Run())
}

// applications is how often each process of the crowd applies.
const applications = 5

// play runs one process. It is one of a crowd that applies to the same file, or it is killed at its
// n-th file system call while it applies or lands.
func play(role string, args []string) error {
	ctx, env := context.Background(), workspace.SystemEnv()
	env.LockPatience = time.Minute
	plan := faultfs.NewPlan(0, faultfs.Death)
	if role == "killed" || role == "lander" {
		plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		env.OpenFS = plan.Open
	}
	w, err := workspace.Open(env, args[0])
	if err != nil {
		return err
	}
	defer w.Close()
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	s := &Service{Workspace: w, Machine: machine, Environ: os.Environ(), Memory: NewMemory(), Alive: func(string, string) bool { return false }}
	if role == "killed" {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		plan.Arm(n, faultfs.Death)
		_, err = s.Apply(ctx, Order{ProjectID: args[1], Wanted: Wanted{Given: proposals()}, Actor: human()})
		return err
	}
	if role == "lander" {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		plan.Arm(n, faultfs.Death)
		return playLanding(s, args)
	}
	made := []string{}
	for i := range applications {
		o := Order{ProjectID: args[1], Wanted: Wanted{Given: []Proposal{file("a.txt", fmt.Sprintf("%s %d\n", args[2], i))}}, Actor: human()}
		done, err := s.Apply(ctx, o)
		if fault.Is(err, fault.FilesRefused) || fault.Is(err, fault.TargetBusy) {
			continue
		}
		if err != nil {
			return err
		}
		made = append(made, *done.CheckpointID)
	}
	return json.NewEncoder(os.Stdout).Encode(made)
}

// proposals returns proposals that change, create and delete files.
func proposals() []Proposal {
	return []Proposal{file("a.txt", "new\n"), {Path: "gone.txt", Delete: true}, file("new/deep/c.txt", "three\n"), file("sub/b.txt", "two, too\n")}
}

func process(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return cmd
}

// TestACrowd has eight processes of two workspaces apply to one file. It checks that the file, and
// the old content in each checkpoint, is a whole version. Each revert is correct or refused.
func TestACrowd(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	if _, err := other.Workspace.SetRepoRoot(t.Context(), "repo", s.repo, true); err != nil {
		t.Fatal(err)
	}
	var crowd []*exec.Cmd
	for i := range 8 {
		of := []*stage{s, other}[i%2]
		p := process(t, "crowd", of.dir, of.project, fmt.Sprint("process ", i))
		crowd = append(crowd, p)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	versions := map[string]bool{base()["a.txt"]: true}
	for i := range 8 {
		for n := range applications {
			versions[fmt.Sprintf("process %d %d\n", i, n)] = true
		}
	}
	for _, p := range crowd {
		if err := p.Wait(); err != nil {
			t.Fatalf("%v: %s", err, p.Stderr)
		}
	}
	if got := tree(t, s.repo); !versions[got["a.txt"]] || len(got) != 3 {
		t.Errorf("%q", got)
	}
	total := 0
	for i, p := range crowd {
		var made []string
		if err := json.Unmarshal(p.Stdout.(*bytes.Buffer).Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		total += len(made)
		for _, id := range made {
			[]*stage{s, other}[i%2].revertInACrowd(t, id, s.repo, versions)
		}
	}
	if total < applications {
		t.Errorf("only %d were applied", total)
	}
}

func (s *stage) revertInACrowd(t *testing.T, id, repo string, versions map[string]bool) {
	t.Helper()
	dir := workspace.CheckpointDir(s.project, id)
	plan, err := checkpoint.Load(s.Workspace.FS, dir)
	if err != nil {
		t.Fatal(err)
	}
	old, err := plan.Old(s.Workspace.FS, dir, 0)
	if err != nil || !versions[string(old)] {
		t.Errorf("%s came after %q, %v", id, old, err)
	}
	now := tree(t, repo)["a.txt"]
	s.Service = s.service(t, s.Workspace)
	_, err = s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: id, Actor: human()})
	switch right := checkpoint.Hash([]byte(now)) == plan.Files[0].New; {
	case right && (err != nil || tree(t, repo)["a.txt"] != string(old)):
		t.Errorf("%s was not reverted: %v", id, err)
	case !right && !fault.Is(err, fault.FilesRefused) || !right && tree(t, repo)["a.txt"] != now:
		t.Errorf("%s was reverted over %q: %v", id, now, err)
	}
}

// TestKills kills an applying process at its n-th file system call. After recovery, the apply is
// complete with one event, or absent.
func TestKills(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a.txt": "new\n", "new/deep/c.txt": "three\n", "sub/b.txt": "two, too\n"}
	happened := map[bool]int{}
	for n := 5; ; n += 7 {
		s := newStage(t)
		p := process(t, "killed", s.dir, s.project, strconv.Itoa(n))
		err := p.Run()
		old := time.Now().Add(-3 * time.Minute)
		_ = os.Chtimes(filepath.Join(s.dir, ".local/locks/workspace.write.lock"), old, old) // makes the lock stale
		if err := s.Workspace.Recover(t.Context()); err != nil {
			t.Fatalf("killed at call %d: %v", n, err)
		}
		got, told := tree(t, s.repo), s.applied(t, "")
		switch {
		case maps.Equal(got, want) && len(told) == 1:
			happened[true]++
		case maps.Equal(got, base()) && len(told) == 0:
			happened[false]++
		default:
			t.Errorf("killed at call %d: %q, and %d events", n, got, len(told))
		}
		list, listErr := Checkpoints(s.Workspace, s.project, 9, nil)
		if listErr != nil || len(list) != len(told) {
			t.Errorf("killed at call %d: %+v, %v", n, list, listErr)
		}
		if err == nil {
			break // the apply has fewer calls and was not killed
		}
	}
	if happened[true] < 2 || happened[false] < 2 {
		t.Errorf("%v", happened)
	}
}

// TestAFullDisk fails one write at a time, as a full disk does. It checks that the tree is then
// unchanged, byte for byte.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for n := 1; ; n++ {
		plan := faultfs.NewPlan(0, faultfs.Short)
		env := workspace.SystemEnv()
		env.OpenFS = plan.Open
		service := s.service(t, s.open(t, env))
		plan.Arm(n, faultfs.Short)
		_, err := service.Apply(t.Context(), s.order(proposals()...))
		hit := plan.Hit()
		plan.Arm(0, faultfs.Short)
		if hit == "" || err == nil {
			break
		}
		if !strings.Contains(hit, ", write ") {
			_ = s.Workspace.Recover(t.Context())
			if got := tree(t, s.repo); !maps.Equal(got, base()) {
				s = newStage(t) // the apply had already committed
			}
			continue
		}
		if got := tree(t, s.repo); !maps.Equal(got, base()) {
			t.Fatalf("%s: %v: %q", hit, err, got)
		}
		if strings.Contains(hit, ".ac-") && !fault.Is(err, fault.WriteFailed) {
			t.Errorf("%s: %v", hit, err)
		}
	}
}

// TestManyFiles applies the maximum number of files of one call.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var given []Proposal
	for i := range MaxFiles {
		given = append(given, file(fmt.Sprintf("d%d/f%d", i%10, i), strings.Repeat("0123456789\n", 930)))
	}
	done, err := s.Apply(t.Context(), s.order(given...))
	if err != nil || done.Applied != MaxFiles || len(tree(t, s.repo)) != MaxFiles+3 {
		t.Fatalf("%d, %v", done.Applied, err)
	}
	_, err = s.Apply(t.Context(), s.order(slices.Repeat([]Proposal{file("x", strings.Repeat("x", MaxFile))}, 17)...))
	if !fault.Is(err, fault.InvalidParams) {
		t.Errorf("more than a call takes: %v", err)
	}
}

func BenchmarkApply(b *testing.B) {
	s := newStage(b)
	for n := 0; b.Loop(); n++ {
		var given []Proposal
		for i := range MaxFiles {
			given = append(given, file(fmt.Sprintf("d%d/f%d", i%10, i), strings.Repeat(fmt.Sprintf("%010d\n", n), 930)))
		}
		if _, err := s.Apply(b.Context(), s.order(given...)); err != nil {
			b.Fatal(err)
		}
	}
}
