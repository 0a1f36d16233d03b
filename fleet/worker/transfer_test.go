package worker

// Secrets, which stay on the worker, and repositories, which travel there and back.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/fleet"
	"ac/fleet/parcel"
	"ac/workspace/doc"
)

func TestSecretsAreReadHereAndMasked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, make([]byte, maxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	s.configure(func(c *Config) {
		c.Secrets = map[string]Secret{"long": {File: long}, "one": {Env: "TOKEN_OF_WORKER"}, "two": {File: file}, "three": {Command: []string{"/bin/echo", "from-a-command"}}}
	})
	s.begin()
	o := s.order(`[ "$A$B$C" = sesame-openfrom-a-filefrom-a-command ] || exit 9; echo $A $B $C; echo $B > outputs.txt`)
	o.SecretRefs, o.Outputs = map[string]string{"A": "one", "B": "two", "C": "three"}, []string{"outputs.txt"}
	s.hub.order(o)
	end := s.settled(o)
	if end.Status != doc.StatusEnded {
		t.Fatalf("the end is %+v", end)
	}
	s.hub.mu.Lock()
	all, err := json.Marshal(s.hub.attempts[o.Attempt].drafts)
	s.hub.mu.Unlock()
	shipped := string(all) + fmt.Sprint(s.files(end.Results.Outputs))
	for _, secret := range []string{"sesame-open", "from-a-file", "from-a-command"} {
		if err != nil || strings.Contains(shipped, secret) {
			t.Errorf("%s was shipped", secret)
		}
	}
	for name, why := range map[string]string{"none": "the worker has no secret none", "long": "secret long has more than 65536 bytes"} {
		refused := s.order("true")
		refused.SecretRefs = map[string]string{"A": name}
		s.hub.order(refused)
		s.hub.until("it is given up", func() bool { return len(s.hub.attempts[refused.Attempt].gaveUp) > 0 })
		s.hub.mu.Lock()
		if give := s.hub.attempts[refused.Attempt].gaveUp[0]; !give.NeverStarted || !strings.Contains(give.Why, why) {
			t.Errorf("with secret %s it was given up as %+v", name, give)
		}
		s.hub.mu.Unlock()
	}
}

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestRepositoryTravelsThereAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	hub := t.TempDir()
	git(t, hub, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(hub, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, hub, "add", "-A")
	git(t, hub, "commit", "-q", "-m", "one")
	base := git(t, hub, "rev-parse", "HEAD")
	bundle, err := os.Create(filepath.Join(t.TempDir(), "bundle"))
	if err == nil {
		err = parcel.WriteBundle(t.Context(), os.Environ(), hub, []parcel.Head{{Ref: "refs/ac/base", Commit: base}}, nil, bundle)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.Close()
	text, err := os.ReadFile(bundle.Name())
	if err != nil {
		t.Fatal(err)
	}
	digest, err := parcel.Measure(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	object := fleet.ObjectName(fleet.ObjectSource, digest.SHA256)
	s.hub.do(func() { s.hub.objects[object] = text })
	for _, c := range []struct {
		script    string
		head, wip bool
	}{
		{"cat a; echo two > b; git add b; git -c user.name=t -c user.email=t@t commit -qm two; echo three > c", true, true},
		{"true", false, false},
	} {
		o := s.order(c.script)
		o.Repo = &fleet.Repo{ID: "repo", Commit: base, Branch: "ac/proj/" + o.RunID + "/" + o.RunID, Via: fleet.ViaAuto, Bundle: object, Worktree: true}
		s.hub.order(o)
		end := s.settled(o)
		if end.Status != doc.StatusEnded || end.Results == nil || end.Results.Worktree == nil {
			t.Fatalf("the end is %+v, its results %+v", end, end.Results)
		}
		left := end.Results.Worktree
		if left.Branch != o.Repo.Branch || left.BaseSHA != base || (left.HeadSHA != base) != c.head || (left.WipSHA != "") != c.wip {
			t.Errorf("the worktree is %+v", left)
		}
		s.hub.mu.Lock()
		packed := s.hub.objects[left.Name]
		s.hub.mu.Unlock()
		at := filepath.Join(t.TempDir(), "back")
		if err := os.WriteFile(at, packed, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		wip := "refs/ac/wip/" + o.RunID
		taken, err := parcel.ImportBundle(t.Context(), os.Environ(), hub, file, []parcel.Want{{Ref: "refs/heads/" + left.Branch, To: []string{"refs/heads/" + left.Branch}}, {Ref: wip, To: []string{wip}, Force: true}})
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if c.wip && (len(taken) != 2 || git(t, hub, "show", wip+":c") != "three" || git(t, hub, "show", left.Branch+":b") != "two") {
			t.Errorf("taken: %v", taken)
		}
	}
	s.hub.until("the mirror is told", func() bool { return s.hub.beats > 0 })
	s.restart()
	s.hub.until("another hello", func() bool { return len(s.hub.hellos) > 1 })
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if tips := s.hub.hellos[1].Repos["repo"]; !slices.Contains(tips, base) {
		t.Errorf("the worker has %v", tips)
	}
}

func TestNoSourceNoStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	o := s.order("true")
	o.Repo = &fleet.Repo{ID: "repo", Commit: strings.Repeat("1", 40), Branch: "b", Via: fleet.ViaAuto, Worktree: true}
	s.hub.order(o)
	s.hub.until("it is given up", func() bool { return len(s.hub.attempts[o.Attempt].gaveUp) > 0 })
	if s.started() != 0 {
		t.Error("it was started")
	}
}
