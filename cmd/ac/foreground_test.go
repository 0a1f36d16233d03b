package main

// Foreground runs in a real terminal: what their followers show and ask, how they handle keys, and
// what happens to a run whose follower is killed.

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ac/internal/proc/proctest"
)

// newHome starts a screen in a Git repository, with an empty home directory. PATH has ac, and a
// scripted agent instead of codex.
func newHome(t *testing.T, columns string) *screen {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: runs in worktrees need git, which is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/agents/codex")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	err = errors.Join(
		os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, "ac")), proctest.WriteProgram(filepath.Join(bin, "codex"), script),
		os.Mkdir(filepath.Join(dir, "home"), 0o755), os.Mkdir(filepath.Join(dir, "shop"), 0o755),
	)
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+filepath.Join(dir, "home"), "TMPDIR="+dir, "XDG_STATE_HOME=",
		"AC_WORKSPACE=", "AC_PROJECT=", "AC_ACTOR=", "AC_RUN=", "AC_AGENT=", "NO_COLOR=", "LC_ALL=C.UTF-8", "GORACE=atexit_sleep_ms=0", "OPENAI_API_KEY=", "CODEX_API_KEY=")
	s := newScreen(t, filepath.Join(dir, "shop"), env)
	s.run("resize-window", "-x", columns, "-y", "40")
	s.types(`git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first; echo rea""dy`)
	s.shows("ready\n")
	t.Cleanup(func() {
		stop := exec.Command(self, "-C", filepath.Join(dir, "shop"), "stop", "--all", "-y")
		stop.Env = env
		_ = stop.Run() // there may be no workspace
	})
	return s
}

// presses sends keys to the terminal.
func (s *screen) presses(keys ...string) {
	s.t.Helper()
	s.run(append([]string{"send-keys"}, keys...)...)
}

// masked returns a screen up to the status, with ids and times replaced.
func masked(text string) string {
	text = regexp.MustCompile(`\b[0-9A-Z]{6}\b`).ReplaceAllString(text, "IDENDS")
	text = regexp.MustCompile(`\b[0-9]+(\.[0-9])?s\b`).ReplaceAllString(text, "N.Ns")
	text, _, _ = strings.Cut(text, "status=")
	return text
}

// TestAMinute starts with an empty home, runs an agent, answers its request, and shows its change.
// It compares the screens with golden files at two widths.
func TestAMinute(t *testing.T) {
	t.Parallel()
	for _, columns := range []string{"80", "140"} {
		t.Run(columns, func(t *testing.T) {
			t.Parallel()
			s := newHome(t, columns)
			s.types("ac init --agents codex; echo status=$?")
			recorded(t, "init-"+columns, masked(s.shows("status=0")))
			s.types(`ac run --agent Codex "write, asking first"; echo status=$?`)
			s.shows("allow for this [s]ession ›")
			s.presses("a", "Enter")
			recorded(t, "run-"+columns, masked(s.shows("status=0")))
			s.types("ac diff --no-pager")
			s.shows("+written")
			s.types(`ac run -- sh -c 'echo built; exit 3'; echo status=$?`)
			recorded(t, "run-command-"+columns, masked(s.shows("status=3")))
		})
	}
}

// TestEnterDecidesNothing checks that an empty line answers nothing: ac prompts again.
func TestEnterDecidesNothing(t *testing.T) {
	t.Parallel()
	s := newHome(t, "80")
	s.types("ac init --agents codex; echo status=$?")
	s.shows("status=0")
	s.types(`clear; ac run --agent Codex "write, asking first"; echo status=$?`)
	s.shows("allow for this [s]ession ›")
	s.presses("Enter")
	s.showsTimes("allow for this [s]ession ›", 2)
	s.presses("a", "Enter")
	s.shows("status=0")
}

// TestAnswersAreForWhatWasShown checks that type-ahead does not answer the next request. It also
// checks that the prompt ends when somebody else answers the request.
func TestAnswersAreForWhatWasShown(t *testing.T) {
	t.Parallel()
	s := newHome(t, "80")
	s.types("ac init --agents codex; echo status=$?")
	s.shows("status=0")
	s.types(`clear; ac run --agent Codex "delete twice"; echo status=$?`)
	s.shows("allow for this [s]ession ›")
	s.presses("a", "Enter", "d", "Enter", "d", "Enter")
	s.shows("? rm y")
	s.showsTimes("allow for this [s]ession ›", 2)
	asked := regexp.MustCompile(`ac answer ([0-9A-Z]{6})`).FindAllStringSubmatch(s.run("capture-pane", "-p"), -1)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := exec.Command(self, "answer", asked[len(asked)-1][1], "allow")
	elsewhere.Dir, elsewhere.Env = s.dir, s.env
	if said, err := elsewhere.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text := s.shows("status=0")
	if strings.Contains(text, "denied") || strings.Count(text, "allowed by human") != 2 {
		t.Errorf("answered otherwise:\n%s", text)
	}
}

// TestInitShowsThatItLooks checks the progress line of init, with a slow program in PATH. The line
// counts the programs checked and disappears at the end.
func TestInitShowsThatItLooks(t *testing.T) {
	t.Parallel()
	s := newHome(t, "80")
	raw := filepath.Join(t.TempDir(), "raw")
	s.run("pipe-pane", "cat >"+raw)
	s.types(`mkdir slow; printf '#!/bin/sh\nexec sleep 3\n' >slow/goose; chmod 755 slow/goose; PATH=$PWD/slow:$PATH ac init; echo status=$?`)
	text := s.shows("status=0")
	if strings.Contains(text, "looking for agents") {
		t.Errorf("the line stays:\n%s", text)
	}
	shown := "looking for agents  4 / 5 programs  "
	if !awaited(func() bool {
		printed, err := os.ReadFile(raw)
		return err == nil && strings.Contains(string(printed), shown)
	}) {
		t.Errorf("the terminal never showed %q", shown)
	}
}

// recorded compares a screen with the golden file of that name.
func recorded(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s is not as recorded (%v):\n%s", name, err, got)
	}
}

// TestKeysOfARun checks that Ctrl-C stops a run and a second Ctrl-C kills it. Ctrl-\ leaves it
// running; Ctrl-Z suspends only the follower.
func TestKeysOfARun(t *testing.T) {
	t.Parallel()
	s := newHome(t, "100")
	s.types("ac init --agents none")
	s.shows("Next")
	s.types(`ac run -- sh -c 'echo one""begun; exec sleep 99'; echo one=$?`)
	s.shows("onebegun\n")
	s.presses("C-c")
	s.shows("(Ctrl-C again: kill)")
	s.shows("  stopped, ")
	s.shows("one=130")
	s.types(`ac run -- sh -c 'trap "" TERM INT; echo two""begun; while :; do sleep 0.1; done'; echo two=$?`)
	s.shows("twobegun\n")
	s.presses("C-c")
	s.shows("(Ctrl-C again: kill)")
	s.presses("C-c")
	s.shows("two=130")
	s.types(`ac run -- sh -c 'echo three""begun; until test -e '$PWD'/go; do sleep 0.1; done; echo go""ne'; echo three=$?`)
	s.shows("threebegun\n")
	s.presses(`C-\`)
	s.shows("left running; ac logs -f ")
	s.shows("three=0")
	s.types("ac ps --live")
	s.shows("● running")
	s.types("ac watch last")
	s.shows("threebegun\n")
	s.presses("C-z")
	s.shows("topped")
	s.types("touch go; fg")
	s.shows("gone")
	s.types("ac ps")
	s.shows("✓ done")
}

// TestAttach uses the line mode of ac attach: it answers, steers, detaches from, stops and
// continues a live agent.
func TestAttach(t *testing.T) {
	t.Parallel()
	s := newHome(t, "100")
	s.types("ac init --agents codex")
	s.shows("Next")
	s.types(`ac run -d --keep-open --agent Codex "do it"; ac attach last`)
	s.shows("/allow or /deny")
	s.presses("/help", "Enter")
	s.shows("/detach    leave it running")
	s.presses("/nonsense", "Enter")
	s.shows("ERROR: there is no /nonsense; /help")
	s.presses("/allow everything", "Enter")
	s.shows("ERROR: /allow takes nothing")
	s.presses("/allow", "Enter")
	s.shows("« done")
	s.presses("/allow", "Enter")
	s.shows("ERROR: nothing is asked")
	s.presses("more docs", "Enter")
	s.shows("said (")
	s.shows("you: more docs")
	s.presses("C-c")
	s.shows("ERROR: ")
	s.presses("C-d")
	s.shows("left running; ac attach ")
	s.types("ac ps --live")
	s.shows("◦ idle")
	s.types("ac attach last; echo status=$?")
	s.shows("Codex ›")
	s.presses("/stop", "Enter")
	s.shows("status=3")
	s.types("ac attach last")
	s.shows("continue with ›")
	s.presses("docs again", "Enter")
	s.shows("you: docs again")
	s.presses("/detach", "Enter")
	s.shows("left running; ac attach ")
}

// TestFollowersAreKilled checks that a run continues after its follower is killed, and that the
// terminal stays usable.
func TestFollowersAreKilled(t *testing.T) {
	t.Parallel()
	s := newHome(t, "100")
	s.types("ac init --agents codex")
	s.shows("Next")
	for _, follower := range []string{"run --keep-open --agent Codex doit", "watch last", "attach last", "logs -f last"} {
		s.types(`(until ac ps --live | grep -q 'asks you' && pgrep -P $$ -f '` + follower + `' >/dev/null; do sleep 0.1; done; pkill -9 -P $$ -f '` + follower + `') & ac ` + follower + `; echo status=$?`)
		s.shows("status=137")
		s.types("stty -a | grep -c ' icanon'; ac ps --live")
		s.shows("▲ asks you")
		s.shows("1\n")
	}
	s.types("ac log:verify $PWD/.ac | tail -1; ac stop --all -y; echo status=$?")
	s.shows("status=0")
}
