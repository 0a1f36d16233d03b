package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/internal/durable"
	"ac/internal/lock"
	"ac/internal/runtimetest"
)

const testGUID = "0d0cc4ab-0c1f-4f6c-8b1c-5a6f7f0c9d1e"

// TestMain lets the test binary act as a server. "serve DIR" runs one, "stay DIR" runs one that
// ignores SIGTERM, "fail" exits with ExitListen, and "hang" never comes up.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stay" {
		signal.Ignore(syscall.SIGTERM)
		os.Exit(serve(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == "hang" {
		for {
			time.Sleep(time.Hour) // until it is killed
		}
	}
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == "fail" {
		fmt.Fprintln(os.Stderr, "level=INFO msg=listening\nERROR: the address is in use")
		os.Exit(ExitListen)
	}
	os.Exit(runtimetest.With(m).Run())
}

func serve(dir string) int {
	ctx, end := context.Background(), func() {}
	if !signal.Ignored(syscall.SIGTERM) {
		ctx, end = signal.NotifyContext(ctx, syscall.SIGTERM)
	}
	defer end()
	r, err := Claim(dir, testGUID, "")
	if err == nil {
		err = r.Write("http://127.0.0.1:1/", 1)
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		fmt.Fprintln(os.Stderr, err)
		return failed.Status
	}
	fmt.Println("listening")
	r.Beat(ctx)
	if r.Remove() != nil {
		return ExitFailed
	}
	return 0
}

func statusOf(err error) int {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Status
	}
	return 0
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRuntimeFiles checks a server's runtime files. A second server is refused, a dead server's
// files are replaced, and a graceful shutdown leaves only the lock file.
func TestRuntimeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", pidFile), []byte("1\n"), 0o644); err != nil { // a dead server's
		t.Fatal(err)
	}
	r, err := Claim(dir, testGUID, NewToken())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Find(dir); ok || err != nil {
		t.Errorf("it is found before it listens: %v", err)
	}
	if _, err := Claim(dir, testGUID, ""); statusOf(err) != ExitRunning {
		t.Errorf("a second one: %v", err)
	}
	if err := r.Write("http://127.0.0.1:28080/", 28080); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		pidFile: fmt.Sprintf(`^%d\n$`, os.Getpid()), portFile: `^28080\n$`, tokenFile: `^[A-Za-z0-9_-]{43}\n$`,
		guidFile: "^" + testGUID + "\n$",
		beatFile: fmt.Sprintf(`^\{"pid":%d,"guid":"%s","timestamp_ms":\d{13}\}\n$`, os.Getpid(), testGUID),
	} {
		if text := read(t, dir, name); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for name, want := range map[string]os.FileMode{".": 0o700, tokenFile: 0o600} {
		if st, err := os.Stat(filepath.Join(dir, "run", name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	if found, ok, err := Find(dir); !ok || err != nil || found.Process.PID != os.Getpid() || found.Address != "http://127.0.0.1:28080/" || found.GUID != testGUID {
		t.Errorf("%+v %v %v", found, ok, err)
	}
	if err := r.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "run")); err != nil || len(left) != 1 || left[0].Name() != lockFile {
		t.Errorf("%v, %v", left, err)
	}
	if _, ok, err := Find(dir); ok || err != nil {
		t.Errorf("it is found after its end: %v", err)
	}
}

// TestInheritedLock checks that a server starts although a dead server's child holds the
// inherited lock for a moment longer. A live server's lock is not waited for.
func TestInheritedLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(runDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runDir(dir), lockFile), []byte(`{"pid":1073741824,"start":"1"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := durable.OpenRoot(runDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }() // it was only read
	inherited, err := lock.Try(root, lockFile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := claim(dir, testGUID, "", func(tries int) bool {
		if tries == 2 {
			err = inherited.Release()
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write("http://127.0.0.1:1/", 1); err != nil {
		t.Error(err)
	}
	if _, err := claim(dir, testGUID, "", func(int) bool { panic("it waits for one that lives") }); statusOf(err) != ExitRunning {
		t.Errorf("%v", err)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
}

// TestLogTurns checks that a log beyond its bound is rotated.
func TestLogTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Claim(dir, testGUID, "")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", maxLog+1)
	if err := os.WriteFile(filepath.Join(dir, "run", logFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.turnLog(); err != nil {
		t.Fatal(err)
	}
	if read(t, dir, logFile) != "" || read(t, dir, oldLog) != text {
		t.Error("the log was not turned")
	}
	if err := r.Remove(); err != nil {
		t.Fatal(err)
	}
}

// TestControl starts, finds and stops a server, and checks the exit statuses.
func TestControl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := Stop(t.Context(), dir); statusOf(err) != ExitFailed {
		t.Errorf("stop with nothing running: %v", err)
	}
	answers := func(context.Context, Running) error { return nil }
	start := Start{DataDir: dir, Argv: []string{self, "serve", dir}, Answers: answers}
	if line, err := start.Run(t.Context()); line != "listening" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	r, ok, err := Find(dir)
	if !ok || err != nil || time.Since(r.Since) < 0 {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if _, err := start.Run(t.Context()); statusOf(err) != ExitRunning {
		t.Errorf("again: %v", err)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, ok, _ := Find(dir); ok {
		t.Error("it runs after its end")
	}
	start.Argv = []string{self, "fail"}
	if _, err := start.Run(t.Context()); statusOf(err) != ExitListen || err.Error() != "the address is in use" {
		t.Errorf("one that fails: %v", err)
	}
	start.Argv = []string{filepath.Join(dir, "none")}
	if _, err := start.Run(t.Context()); statusOf(err) != ExitSpawn {
		t.Errorf("none: %v", err)
	}
}

// TestLate checks the errors for a server that does not come up in time, which is killed, and for
// one that does not stop in time, which keeps running.
func TestLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := Start{DataDir: dir, Argv: []string{self, "hang"}, within: 50 * time.Millisecond}
	if _, err := start.Run(t.Context()); statusOf(err) != ExitNotStarted || !strings.HasSuffix(err.Error(), "see its log "+filepath.Join(dir, "run", logFile)) {
		t.Errorf("one that hangs: %v", err)
	}
	asked, giveUp := context.WithCancel(t.Context())
	silent := Start{DataDir: dir, Argv: []string{self, "serve", dir}, Answers: func(context.Context, Running) error {
		giveUp()
		return errors.New("another one answers")
	}}
	if _, err := silent.Run(asked); statusOf(err) != ExitNotStarted {
		t.Errorf("one that does not answer: %v", err)
	}
	stays := Start{DataDir: dir, Argv: []string{self, "stay", dir}, Answers: func(context.Context, Running) error { return nil }}
	if _, err := stays.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, ok, err := Find(dir)
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if err := stop(t.Context(), dir, 50*time.Millisecond); statusOf(err) != ExitNotStopping || !r.Process.Alive() {
		t.Errorf("one that stays: %v", err)
	}
	if err := r.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := stop(t.Context(), dir, time.Minute); err != nil && statusOf(err) != ExitFailed { // it may be gone already
		t.Error(err)
	}
}

// TestTokenFiles checks which token files are refused.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	file := func(text string, mode os.FileMode) string {
		name := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if token, err := ReadToken(file("abc\n", 0o600)); token != "abc" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // without a writer
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{
		"a pipe": pipe, "empty": file("\n", 0o600), "open to others": file("abc", 0o640), "two": file("a b", 0o600), "missing": filepath.Join(t.TempDir(), "none"), "a directory": t.TempDir(),
	} {
		if _, err := ReadToken(name); statusOf(err) != ExitRefused {
			t.Errorf("%s: %v", what, err)
		}
	}
}
