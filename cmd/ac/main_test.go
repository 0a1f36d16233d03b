package main

// The scripts in testdata/script run the real program: the command "ac" is the test binary. They
// have these extra commands:
//
//	exits STATUS COMMAND...    run a command and check its exit status
//	capture NAME [KEY]         save the last stdout in a variable; KEY, or KEY.KEY, picks a string
//	                           from its JSON
//	flip FILE OLD NEW          overwrite the first OLD in a file with a NEW of the same length
//	signalled SIGNAL STATUS MARK COMMAND...
//	                           run a command, signal it once MARK appears, and check its status.
//	                           MARK is a file, or printed:WORD for a word of the output. The file
//	                           "requests", if it exists, goes to stdin, which stays open.
//	session PROJECT RUN WORD...
//	                           launch a command line as the session of a run in the workspace "w"

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ac/dialect/dialecttest"
	"ac/heartbeat/job"
	"ac/internal/runtimetest"
	"ac/runs/session"
)

// asProgram is the environment variable that makes the test binary act as the program.
const asProgram = "AC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	// Sessions start this binary by its path.
	hidden := len(os.Args) > 1 && (os.Args[1] == session.SuperviseCommand || os.Args[1] == session.GuardCommand || os.Args[1] == job.RunCommand || os.Args[1] == "mcp:serve")
	if len(os.Args) == 2 && os.Args[1] == toolAgentWord {
		os.Exit(agentMain())
	}
	if len(os.Args) == 2 && os.Args[1] == soakSpeaker {
		os.Exit(exitOf(dialecttest.Speak(os.Stdin, os.Stdout)))
	}
	if file := os.Getenv(soakProbe); file != "" && !hidden {
		go describeAt(file)
	}
	if hidden || os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:]))
	}
	runtimetest.Overlap()
	testscript.Main(m, map[string]func(){"ac": main})
}

func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := env.WorkDir + "-home" // does not exist, as the default, but can be created
			env.Setenv("HOME", home)
			env.Defer(func() { _ = os.RemoveAll(home) }) // on failure it stays in the temporary directory
			env.Setenv("GORACE", "atexit_sleep_ms=0")    // otherwise the race detector delays each exit by a second
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "flip": flip, "signalled": signalled, "session": launch,
		},
	})
}

func statusOf(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("%v", err)
	}
	return ended.ExitCode()
}

func refuse(ts *testscript.TestScript, neg, fits bool, usage string) {
	if neg || !fits {
		ts.Fatalf("usage: %s", usage)
	}
}

func compare(ts *testscript.TestScript, got int, want string) {
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit status %d, want %s", got, want)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, len(args) >= 2, "exits STATUS COMMAND...")
	compare(ts, statusOf(ts, ts.Exec(args[1], args[2:]...)), args[0])
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, len(args) == 1 || len(args) == 2, "capture NAME [KEY], a key of a key as KEY.KEY")
	out := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) == 2 {
		var found any
		ts.Check(json.Unmarshal([]byte(out), &found))
		for step := range strings.SplitSeq(args[1], ".") {
			switch inner := found.(type) {
			case map[string]any:
				found = inner[step]
			case []any:
				at, err := strconv.Atoi(step)
				ts.Check(err)
				found = inner[at]
			}
		}
		value, ok := found.(string)
		if !ok {
			ts.Fatalf("no text %q in %s", args[1], out)
		}
		out = value
	}
	ts.Setenv(args[0], out)
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, len(args) == 3 && len(args[1]) == len(args[2]), "flip FILE OLD NEW, of one length")
	text := []byte(ts.ReadFile(args[0]))
	at := bytes.Index(text, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	copy(text[at:], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
}

func signalled(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, len(args) >= 4, "signalled SIGNAL STATUS MARK COMMAND..., MARK a file or printed:WORD")
	number, ok := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "QUIT": syscall.SIGQUIT, "HUP": syscall.SIGHUP}[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	cmd := exec.Command(args[3], args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOCOVERDIR", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := os.CreateTemp(ts.MkAbs("."), "signalled-*")
	ts.Check(err)
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	if requests, err := os.ReadFile(ts.MkAbs("requests")); err == nil {
		_, err = stdin.Write(requests)
		ts.Check(err)
	}
	word, printed := strings.CutPrefix(args[2], "printed:")
	sent := awaited(func() bool {
		if printed {
			text, err := os.ReadFile(out.Name())
			return err == nil && bytes.Contains(text, []byte(word))
		}
		_, err := os.Stat(ts.MkAbs(args[2]))
		return err == nil
	})
	if sent {
		ts.Check(cmd.Process.Signal(number))
	} else {
		ts.Check(cmd.Process.Kill())
	}
	got := statusOf(ts, cmd.Wait())
	ts.Logf("%s", ts.ReadFile(out.Name()))
	if !sent {
		ts.Fatalf("%s did not appear", args[2])
	}
	compare(ts, got, args[1])
}

// awaited waits until a condition holds. It returns false after 20 seconds.
func awaited(there func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		if there() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
}

func launch(ts *testscript.TestScript, neg bool, args []string) {
	refuse(ts, neg, len(args) >= 3, "session PROJECT RUN WORD...")
	params, err := json.Marshal(map[string]any{"workspace_dir": "w", "project_id": args[0], "run_id": args[1], "argv": args[2:]})
	ts.Check(err)
	ts.Check(ts.Exec("ac", "rpc:call", "--method", "session.launch", "--params", string(params)))
}
