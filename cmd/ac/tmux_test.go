package main

// Tests of the short commands in a real terminal: tmux, with its screen and its keys.

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/cmd/ac/cli"
)

// screen is a terminal with a shell in it.
type screen struct {
	t      *testing.T
	tmux   string
	socket string
	dir    string
	env    []string
}

// newScreen starts a terminal of 100 columns and 20 lines. Without tmux it skips the test, or fails
// it if AC_REQUIRE_TMUX is set, as CI does.
func newScreen(t *testing.T, dir string, env []string) *screen {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil && os.Getenv("AC_REQUIRE_TMUX") != "" {
		t.Fatal("AC_REQUIRE_TMUX is set, and tmux is not installed")
	}
	if err != nil {
		t.Skip("SKIPPED: short commands on a terminal need tmux, which is not installed")
	}
	s := &screen{t, tmux, filepath.Join(t.TempDir(), "s"), dir, env}
	s.run("new-session", "-d", "-x", "100", "-y", "20", "-c", dir, "sh")
	t.Cleanup(func() { _ = s.command("kill-server").Run() }) // best effort: the test is over
	return s
}

func (s *screen) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.tmux, append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(slices.Clone(s.env), "PS1=$ ")
	return cmd
}

func (s *screen) run(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// types clears the screen and sends a line to the shell.
func (s *screen) types(line string) {
	s.t.Helper()
	s.run("send-keys", "clear; "+line, "Enter")
}

// shows waits until the screen contains a text, and returns the screen.
func (s *screen) shows(what string, flags ...string) string {
	s.t.Helper()
	text := ""
	if !awaited(func() bool {
		text = s.run(append([]string{"capture-pane", "-p"}, flags...)...)
		return strings.Contains(text, what)
	}) {
		s.t.Fatalf("the screen does not show %q:\n%s", what, text)
	}
	return text
}

// shownCommand is a test case for a short command on a terminal: the line typed, what the screen
// must show, the keys to press then, and the exit status.
type shownCommand struct {
	line   string
	shows  []string
	keys   []string
	status string // empty means "0"
}

// shownCommands returns the test cases by command. Add an entry for each new short command.
func shownCommands() map[string][]shownCommand {
	once := func(line string, shows ...string) []shownCommand { return []shownCommand{{line: line, shows: shows}} }
	return map[string][]shownCommand{
		"ps":   once("ac ps", "RUN     STATE ", "AGENT ", "✓ done"),
		"logs": {{line: "ac logs", shows: []string{"the newest"}}, {line: "ac logs -f LAST", shows: []string{"built"}}},
		"diff": once("ac diff LAST --no-pager", "client/a.txt", "+2"),
		"land": {
			{line: "ac land LAST", shows: []string{"client/a.txt", "Land 1 file +1 -0 on main as one commit? [y/N/d]"}, keys: []string{"n", "Enter"}},
			{line: "ac land LAST", shows: []string{"as one commit? [y/N/d]"}, keys: []string{"d", "Enter", "y", "Enter"}},
			{line: "ac land LAST", shows: []string{"was landed as"}},
		},
		"discard":    once(`ac discard $(ac run:new "$AC_WORKSPACE" --project Checkout --agent Shell --provider cmd | grep -o 'run_[0-9A-Z]\{26\}')`, " stopped"),
		"init":       once("ac init", "Shell  runs commands"),
		"run":        {{line: "ac run -- make test", shows: []string{"ok", "done"}}, {line: "ac run -- sh -c 'echo go\"\"ing; sleep 60'", shows: []string{"going"}, keys: []string{"C-c"}, status: "130"}},
		"attach":     {{line: "ac run -q -d --agent Ann --keep-open 'Write the notes'; until ac ps --live -q | grep -q run_; do :; done; ac attach $(ac ps --live -q)", shows: []string{"The notes are written."}, keys: []string{"C-d"}}},
		"continue":   {{line: "ac continue -d last 'and the changelog'; ac stop --all -y", shows: []string{"stopped"}}},
		"watch":      once("ac watch LAST", "built"),
		"retry":      once("ac retry LAST", "built"),
		"say":        once("ac say 'the release is out'", "said in #home"),
		"inbox":      once("ac inbox", "Nothing needs you."),
		"show":       once("ac show LAST --no-pager", "✓ done"),
		"cost":       once("ac cost --no-pager", "total"),
		"stop":       once("ac stop LAST", " was over (done)"),
		"status":     once("ac status", "RUNNING 0", "NEEDS YOU 0", "HEALTH   "),
		"approve":    {{line: "ac approve XXXXXX", shows: []string{"ERROR: nothing named XXXXXX needs you in Acme"}, status: "1"}}, // and TestDecidingOnATerminal
		"deny":       {{line: "ac deny XXXXXX", shows: []string{"ERROR: nothing named XXXXXX needs you in Acme"}, status: "1"}},
		"use":        once("ac use", "workspace  Acme", "project    Checkout"),
		"agents":     once("ac agents", "AGENT ", "◦ idle"),
		"teams":      once("ac teams", "TEAM ", "Payments"),
		"projects":   once("ac projects", "PROJECT ", "shop"),
		"tasks":      {{line: "ac tasks", shows: []string{"TASK ", "Fix the flaky test"}}, {line: "ac tasks add Later", shows: []string{"added Later …"}}},
		"jobs":       once("ac jobs", "No jobs yet: ac job:submit"),
		"plan":       once("ac plan --no-pager", "Fix the flaky test", "▒"),
		"talk":       {{line: "ac talk", shows: []string{"CHANNEL ", "UNREAD"}}, {line: "ac talk home", shows: []string{"#home >"}, keys: []string{"hello", "Enter", "C-d"}}},
		"verify":     once("ac verify", "all sound"),
		"doctor":     {{line: "ac doctor --no-pager || true", shows: []string{"checks"}}},
		"web":        {{line: "ac web --port 0", shows: []string{"http://127.0.0.1:"}, keys: []string{"C-c"}}},
		"service":    once("ac service systemd", "[Service]"),
		"search":     once("ac search flaky", "KIND ", "Fix the flaky test"),
		"version":    once("ac version", "built with go"),
		"demo":       once("ac demo --remove | tail -1", "one changed byte found"),
		"completion": once("ac completion bash | head -1", "bash completion"),
		"help":       {{line: "ac help ps", shows: []string{"--no-pager"}}, {line: "AC_PAGER='sed s/^/paged:/' ac help --all", shows: []string{"paged:"}}},
	}
}

// TestShortCommandsOnATerminal types every short command into a terminal. Commands that need no
// keys, except demo, run again with TERM=dumb and must then print no escape codes.
func TestShortCommandsOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	s.run("resize-window", "-x", "100", "-y", "40") // so that the findings of doctor do not scroll away
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if !cli.IsShort(cmd) {
			continue
		}
		rows := shownCommands()[cmd.Name()]
		_, elsewhere := notHere()[cmd.Name()]
		// TestDecidingOnATerminal covers decisions, TestTopOnATerminal the full screen.
		if decided := slices.Contains([]string{"approve", "deny", "answer", "top"}, cmd.Name()); len(rows) == 0 && !elsewhere && !decided {
			t.Errorf("ac %s is not tried in a terminal", cmd.Name())
		}
		for _, row := range rows {
			line := strings.ReplaceAll(row.line, "LAST", w.run)
			s.types(line + `; echo sta""tus=$?`)
			for _, what := range row.shows {
				s.shows(what)
			}
			for _, key := range row.keys {
				s.run("send-keys", key)
			}
			want := "status=" + row.status
			if row.status == "" {
				want = "status=0"
			}
			s.shows(want + "\n")
			if len(row.keys) > 0 || cmd.Name() == "demo" {
				continue
			}
			s.types("TERM=dumb; " + line + `; TERM=screen; echo du""mb`)
			if plain := s.shows("dumb\n", "-e"); strings.Contains(plain, "\x1b[") {
				t.Errorf("%s on a dumb terminal has escape codes:\n%q", row.line, plain)
			}
		}
	}
	s.types("ac talk home | cat")
	if text := s.shows("hello"); !strings.Contains(text, "human\thello") && !strings.Contains(text, "human   hello") {
		t.Errorf("what was typed into the conversation is not there:\n%s", text)
	}
}

// TestLinksOnATerminal checks that ids and paths are links if the terminal supports links. Without
// FORCE_HYPERLINK tmux gets no links, and neither do pipes and pagers.
func TestLinksOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	raw := filepath.Join(w.dir, "raw")
	s.run("pipe-pane", "cat >"+raw)
	printed := func() string {
		text, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	w.proposal(t)
	s.types("ac ps; FORCE_HYPERLINK=1 ac ps | cat; stty rows 2; FORCE_HYPERLINK=1 AC_PAGER='sed s/^/paged:/' ac show " + w.run + "; stty rows 20; echo en''ded")
	s.shows("ended")
	if !awaited(func() bool { return strings.Contains(printed(), "ended") }) {
		t.Fatal("the terminal does not say what it got")
	}
	if text := printed(); strings.Contains(text, "\x1b]8;") {
		t.Errorf("links where none may be:\n%q", text)
	}
	for line, want := range map[string][]string{
		"ac ps --no-pager":                   {kept + "/w/work/projects/", "/runs/" + w.run},
		"ac show --no-pager " + w.run:        {"/runs/" + w.run, kept + "/w/.local/worktrees/"},
		"ac diff --stat --no-pager " + w.run: {"/client/a.txt"},
		"ac inbox --no-pager":                {"/artifacts/art_", ".md"},
	} {
		s.types("FORCE_HYPERLINK=1 " + line)
		if !awaited(func() bool {
			for _, part := range strings.Split(printed(), "\x1b]8;;file://")[1:] {
				address, _, _ := strings.Cut(part, "\x1b\\")
				if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(address, w) }) || line == "ac show --no-pager "+w.run && strings.Contains(address, want[1]) {
					return true
				}
			}
			return false
		}) {
			t.Errorf("%s has no link to %q:\n%q", line, want, printed())
		}
	}
}

// TestOnATerminal checks colors, the pager, Ctrl-C, and decisions.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	s.types("ac ps")
	if coloured := s.shows("✓ done", "-e"); !strings.Contains(coloured, "\x1b[32m✓ done") {
		t.Errorf("the state has no colour:\n%q", coloured)
	}
	s.types("ac ps --live; ac ps | od -c | grep -c 033")
	s.shows("No run fits.\n0\n")
	s.types("stty rows 2; AC_PAGER='sed s/^/paged:/' ac ps; stty rows 20")
	s.shows("paged:RUN ")
	s.types("ac run:new $AC_WORKSPACE --project Checkout --agent Ann --provider cmd >/dev/null; ac logs -f; echo status=$?")
	s.shows("the newest")
	s.run("send-keys", "C-c")
	s.shows("status=130")
	s.decides()
}

// decides approves and denies memory changes that the screen shows first, and answers a help
// request.
func (s *screen) decides() {
	s.t.Helper()
	const propose = `ac memory:delta $AC_WORKSPACE --project Checkout --under '## Decisions' --by Ann --run run_manual --ctx ctx_manual --visibility org --title `
	s.types(`for t in Tue Wed; do ` + propose + `$t --insert "- On $t" >/dev/null; done; ac help:new $AC_WORKSPACE --title Queue --target human --requester Ann --project Checkout >/dev/null; ac inbox`)
	s.shows("ID      KIND    FROM  TITLE  AGE")
	s.types(`ac approve $(ac inbox -q | grep art_ | head -1)`)
	s.shows("+- On Tue")
	s.shows("Approve? [y]es, [n]o, [d]eny, [s]kip:")
	s.run("send-keys", "y", "Enter")
	s.shows("memory of Checkout (by human, rule vis.org)")
	s.types(`ac approve $(ac inbox -q | grep art_); ac inbox -q | grep -c art_`)
	s.shows("+- On Wed")
	s.shows("[s]kip:")
	s.run("send-keys", "s", "Enter")
	s.shows("\n1\n")
	s.types(`ac deny $(ac inbox -q | grep art_)`)
	s.shows("denied ")
	s.types(`ac answer`)
	s.shows("Answer:")
	s.run("send-keys", "The fast one", "Enter")
	s.shows("answered ")
	s.types(`ac inbox; ac show last; echo du""ne`)
	s.shows("Nothing needs you.")
	s.shows("○ new")
	s.shows("dune\n")
}

// TestDecidingOnATerminal approves and denies memory changes that the screen shows first, and
// answers a help request.
func TestDecidingOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	propose := `ac memory:delta $AC_WORKSPACE --project $P --under '## Decisions' --by $A --run run_manual --ctx ctx_manual --visibility org --title `
	s.types(`P=$(ac projects -q | head -1); A=$(ac agents -q | head -1); for t in Tue Wed; do ` + propose + `$t --insert "- On $t" >/dev/null; done; ac help:new $AC_WORKSPACE --title Queue --target human --requester $A --project $P >/dev/null; ac inbox`)
	s.shows("ID      KIND    FROM  TITLE  AGE")
	s.types(`ac approve $(ac inbox -q | grep art_ | head -1)`)
	s.shows("+- On Tue")
	s.shows("Approve? [y]es, [n]o, [d]eny, [s]kip:")
	s.run("send-keys", "y", "Enter")
	s.shows("memory of Checkout (by human, rule vis.org)")
	s.types(`ac approve $(ac inbox -q | grep art_); ac inbox -q | grep -c art_`)
	s.shows("+- On Wed")
	s.shows("[s]kip:")
	s.run("send-keys", "s", "Enter")
	s.shows("\n1\n")
	s.types(`ac deny $(ac inbox -q | grep art_)`)
	s.shows("denied ")
	s.types(`ac answer`)
	s.shows("Answer:")
	s.run("send-keys", "The fast one", "Enter")
	s.shows("answered ")
	s.types(`ac inbox; ac show --no-pager last; echo du""ne`)
	s.shows("Nothing needs you.")
	s.shows("✓ done")
	s.shows("dune\n")
	s.types(`ac status; ac cost`)
	s.shows("NEEDS YOU 0")
	s.shows("HEALTH   ok")
	s.shows("UNPRICED")
}

// TestLandingOnATerminal shows the changes of a run with d before landing them. A terminal that is
// too low for them shows them in the pager. Any answer but yes lands nothing.
func TestLandingOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	const question = "Land 1 file +1 -0 on main as one commit? [y/N/d]"
	s.types(`ac land last; echo sta""tus=$?; git log --oneline | wc -l`)
	s.shows(question)
	s.run("send-keys", "d", "Enter")
	s.shows("+++ b/client/a.txt")
	if coloured := s.shows("+2", "-e"); !strings.Contains(coloured, "\x1b[32m+2") {
		t.Errorf("what was added has no colour:\n%q", coloured)
	}
	s.showsTimes(question, 2)
	s.run("send-keys", "Enter")
	s.shows("status=0\n1\n")
	s.types(`stty rows 6; AC_PAGER='sed s/^/paged:/' ac land last; stty rows 20; echo sta""tus=$?; git log --oneline | wc -l`)
	s.shows(question)
	s.run("send-keys", "diff", "Enter")
	s.shows("paged:")
	s.showsTimes(question, 2)
	s.run("send-keys", "y", "Enter")
	s.shows("landed ")
	s.shows("status=0\n2\n")
	s.types(`ac land last; tail -1 client/a.txt`)
	s.shows("was landed as ")
}

// showsTimes waits until the screen contains a text exactly that many times.
func (s *screen) showsTimes(what string, times int) {
	s.t.Helper()
	if !awaited(func() bool { return strings.Count(s.run("capture-pane", "-p"), what) == times }) {
		s.t.Fatalf("the screen does not show %q %d times:\n%s", what, times, s.run("capture-pane", "-p"))
	}
}

// TestTopOnATerminal checks ac top: it shows runs of other processes without a key press, and keys
// decide and stop. It resumes after Ctrl-Z, and restores the screen at exit.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newScreen(t, filepath.Join(w.dir, "shop"), w.env)
	s.run("resize-window", "-x", "100", "-y", "30")
	s.types("echo be''fore; ac top")
	s.shows("[1 Now]")
	s.shows("✓ done")
	if said, err := w.shell(t, "shop", `ac memory:delta $AC_WORKSPACE --project Checkout --title Tuesdays --under '## Decisions' --insert '- On Tuesdays' && ac run -d --agent Shell -- sh -c 'echo alive; exec sleep 1000'`); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	s.shows("1 need you")
	s.shows("● running")
	s.run("send-keys", "g")
	s.shows("alive")
	s.run("send-keys", "2")
	s.shows("+- On Tuesdays")
	s.run("send-keys", "G", "a")
	s.shows("note:")
	s.run("send-keys", "Enter")
	s.shows("approved ")
	s.shows("Nothing needs you.")
	s.run("send-keys", "C-z")
	s.shows("before")
	s.run("send-keys", "fg", "Enter")
	s.shows("[2 Needs you]")
	s.run("resize-window", "-x", "50", "-y", "15")
	s.shows("[2 Needs]")
	s.run("resize-window", "-x", "100", "-y", "30")
	s.run("send-keys", "1", "g", "s", "y")
	s.shows("■ stopped")
	s.run("send-keys", "q")
	s.shows("before") // top may still read keys sent before this
	s.run("send-keys", "echo sta''tus=$?", "Enter")
	if text := s.shows("status=0"); strings.Contains(text, "[1 Now]") {
		t.Errorf("the screen was left behind:\n%s", text)
	}
	s.types("TERM=dumb ac top; echo sta''tus=$?")
	s.shows("error: top needs a terminal; once: ac status")
	s.shows("status=1")
}
