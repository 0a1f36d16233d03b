package top

// The screen without a terminal: golden pictures, keys, and what holds at any size.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

var update = flag.Bool("update", false, "write the golden screens anew")

var noon = time.Date(2026, 11, 22, 14, 3, 22, 0, time.UTC)

// company is a source of a fixed company that keeps the calls it gets.
type company struct {
	room Room
	mu   sync.Mutex
	acts []string
	fail error
}

func (c *company) said(format string, args ...any) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts = append(c.acts, fmt.Sprintf(format, args...))
	return "done", c.fail
}

func (c *company) Follow(ctx context.Context, send func(Room)) error {
	send(c.room)
	<-ctx.Done()
	return nil
}

func (c *company) Watch(ctx context.Context, runID string, send func([]Line)) error {
	send(transcriptOf(runID))
	<-ctx.Done()
	return nil
}

func transcriptOf(runID string) []Line {
	return []Line{
		{"» you: Fix the flaky test in the payment client", terminal.None},
		{"« I'll look at the tests first.", terminal.None},
		{"$ go test ./client -run Retry                                             exit 1", terminal.None},
		{"± client/retry_test.go +4 −1", terminal.None},
		{"? run: rm -rf build   \x1b[31mred\x1b[0m " + runID, terminal.BoldYellow},
	}
}

func (c *company) Proof(_ context.Context, id string, _ int) (Proof, error) {
	lines := []Line{{"Remember: releases are cut on Tuesdays", terminal.None}, {"memory of Checkout, by Ben, rule vis.team.manager_override", terminal.Dim}}
	for i := range 40 {
		lines = append(lines, Line{fmt.Sprintf("+- line %d of %s", i, id), terminal.Green})
	}
	return Proof{Lines: lines, Hash: "h1", Choices: []string{"yes", "later"}}, nil
}

func (c *company) Plan(context.Context, int) ([]Line, error) {
	return []Line{{"Checkout ████░░░ 40 %", terminal.None}}, nil
}
func (c *company) Cost(context.Context, int) ([]Line, error) {
	return []Line{{"DAY         RUNS  TOKENS    COST", terminal.None}, {"2026-11-22     9    181k   $1.92", terminal.None}}, nil
}
func (c *company) Messages(context.Context, string) ([]Line, error) {
	return []Line{{"14:02  human  ship it", terminal.None}, {"14:03  Ann    The notes are in notes/2.4.md.", terminal.None}}, nil
}
func (c *company) Changes(context.Context, string) (string, []Line, error) {
	return "2 files +18 -3", []Line{{"diff --git a/x b/x", terminal.None}}, c.fail
}
func (c *company) Decide(_ context.Context, need string, approve bool, note, hash string) (string, error) {
	return c.said("decide %s %v %q %s", need, approve, note, hash)
}
func (c *company) Answer(_ context.Context, need, text string) (string, error) {
	return c.said("answer %s %q", need, text)
}
func (c *company) Say(_ context.Context, run, text string) (string, error) {
	return c.said("say %s %q", run, text)
}
func (c *company) Send(_ context.Context, conversation, text string) (string, error) {
	return c.said("send %s %q", conversation, text)
}
func (c *company) Stop(_ context.Context, run string) (string, error) { return c.said("stop %s", run) }
func (c *company) Land(_ context.Context, run string) (string, error) { return c.said("land %s", run) }
func (c *company) Start(_ context.Context, agent, text string) (string, error) {
	return c.said("start %s %q", agent, text)
}

// acme is the company of the goldens, with as many more finished runs as wanted.
func acme(more int) Room {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	r := Room{
		Company: "Acme", Project: "Checkout", Running: 2, Today: "$1.92", Health: "ok", Agents: []string{"Ann", "Ben"},
		Runs: []Run{
			{ID: "run_1", Short: "4WKKE6", Sign: "▲", State: "asks you", Colour: terminal.BoldYellow, Agent: "Ann", What: "Fix the flaky test in the payment client and explain what made it flaky", Place: "codex · worktree", At: ago(2 * time.Minute), Tokens: "14.2k", Cost: "$0.11", Live: true, Need: "permission:1"},
			{ID: "run_2", Short: "KHQ2Z9", Sign: "●", State: "running", Colour: terminal.Cyan, Agent: "Ben", What: "Write the release notes of 2.4", Place: "claude", At: ago(40 * time.Second), Tokens: "~3.1k", Cost: "-", Live: true},
			{ID: "run_3", Short: "MCWEF6", Sign: "✗", State: "exit 3", Colour: terminal.Red, Agent: "Shell", What: "sh -c 'echo built; exit 3'", At: ago(time.Hour), Tokens: "~2", Cost: "-"},
			{ID: "run_4", Short: "9F3T0B", Sign: "✓", State: "done", Colour: terminal.Green, Agent: "Claude", What: "翻訳を確認する: strings/日本語.json e\u0301", At: ago(3 * time.Hour), Tokens: "88.0k", Cost: "$0.64"},
		},
		Needs: []Need{
			{ID: "permission:1", Short: "7Q2ZK1", Kind: "permission", From: "Ann", Title: "run: rm -rf build", RunID: "run_1", At: ago(12 * time.Second), Expires: noon.Add(4*time.Minute + 10*time.Second), Asks: true},
			{ID: "memory:2", Short: "B8N4WE", Kind: "memory", From: "Ben", Title: "Remember: releases are cut on Tuesdays, never before the nightly has passed", At: ago(3 * time.Hour)},
			{ID: "question:3", Short: "M0C2P7", Kind: "question", From: "Cleo", Title: "Which region?", At: ago(24 * time.Hour), Asks: true},
		},
		Conversations: []Conversation{{ID: "conv_1", Name: "Release 2", LastBy: "Ann", LastAt: ago(time.Minute)}},
	}
	for i := range more {
		r.Runs = append(r.Runs, Run{ID: fmt.Sprintf("run_x%d", i), Short: fmt.Sprintf("%06d", i), Sign: "✓", State: "done", Agent: "Ann", What: fmt.Sprintf("Work %d", i), At: ago(time.Duration(i) * time.Hour), Tokens: "1", Cost: "-"})
	}
	return r
}

// screen is a screen of a company in a size, with everything read.
type screen struct {
	*Model
	company *company
	t       *testing.T
	pending []tea.Msg
	mu      sync.Mutex
	arrived chan struct{}
}

func show(t *testing.T, room Room, width, height int, options Options) *screen {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &screen{company: &company{room: room}, t: t, arrived: make(chan struct{}, 1000)}
	options.Now = func() time.Time { return noon }
	s.Model = New(ctx, s.company, options, func(msg tea.Msg) {
		s.mu.Lock()
		s.pending = append(s.pending, msg)
		s.mu.Unlock()
		s.arrived <- struct{}{}
	})
	s.after = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	t.Cleanup(func() { cancel(); s.calls.Wait() })
	s.run(s.Init())
	<-s.arrived
	s.settle()
	s.take(tea.WindowSizeMsg{Width: width, Height: height})
	s.settle()
	return s
}

// take passes a message to the screen and carries out the command it returns.
func (s *screen) take(msg tea.Msg) {
	_, cmd := s.Update(msg)
	s.run(cmd)
}

// run carries out a command and takes what it returns. Ticks never come.
func (s *screen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			s.run(c)
		}
	default:
		s.take(msg)
	}
}

// settle takes the messages that came, until the watch of the selected run has sent its lines.
func (s *screen) settle() {
	for range 200 {
		s.mu.Lock()
		pending := s.pending
		s.pending = nil
		s.mu.Unlock()
		for _, msg := range pending {
			s.take(msg)
		}
		if s.watching == "" || len(s.bodies[paneNow].lines) > 0 {
			return
		}
		<-s.arrived
	}
}

// keys types keys by their names.
func (s *screen) typeKeys(names ...string) {
	for _, name := range names {
		s.take(keyNamed(name))
		s.settle()
	}
}

func keyNamed(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "left":
		return tea.KeyPressMsg{Code: tea.KeyLeft}
	case "home":
		return tea.KeyPressMsg{Code: tea.KeyHome}
	case "end":
		return tea.KeyPressMsg{Code: tea.KeyEnd}
	case "delete":
		return tea.KeyPressMsg{Code: tea.KeyDelete}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "ctrl+w":
		return tea.KeyPressMsg{Code: 'w', Mod: tea.ModCtrl}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {80, 24}, {50, 15}} {
		for name, keys := range map[string][]string{
			"now": nil, "needs": {"2"}, "plan": {"3"}, "talk": {"4"}, "cost": {"5"}, "help": {"?"}, "note": {"2", "d"}, "whole": {"enter"},
		} {
			name := fmt.Sprintf("%s_%dx%d", name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := show(t, acme(0), size[0], size[1], Options{Unicode: true})
				s.typeKeys(keys...)
				golden(t, name, strings.Join(trimmed(s.screen()), "\n")+"\n")
			})
		}
	}
	for rows, name := range map[int]string{0: "empty_80x24", 3000: "many_80x24"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			room := acme(rows)
			if rows == 0 {
				room = Room{Company: "Acme"}
			}
			s := show(t, room, 80, 24, Options{Unicode: true})
			golden(t, name, strings.Join(trimmed(s.screen()), "\n")+"\n")
		})
	}
}

func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s (%v):\n%s", path, err, got)
	}
}

// No line is wider than the screen, and there are never more lines than it is high.
func TestScreenFits(t *testing.T) {
	t.Parallel()
	s := show(t, acme(30), 80, 24, Options{Unicode: true, Colour: true})
	for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"1", "tab"}, {"1", "enter"}, {"esc", "/"}, {"x"}, {"esc", "2", "a"}} {
		s.typeKeys(keys...)
		for width := 1; width <= 200; width += 3 {
			for _, height := range []int{1, 2, 7, 8, 15, 23, 24, 60} {
				s.take(tea.WindowSizeMsg{Width: width, Height: height})
				lines := s.screen()
				if len(lines) > height {
					t.Fatalf("%v at %dx%d: %d lines", keys, width, height, len(lines))
				}
				for _, l := range lines {
					if bare := uncoloured(l); terminal.Columns(bare) > width {
						t.Fatalf("%v at %dx%d: %d columns: %q", keys, width, height, terminal.Columns(bare), bare)
					}
				}
			}
		}
	}
}

// uncoloured is a line without the escape codes of colours.
func uncoloured(line string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(line, "\x1b[") {
		if b.Len() == 0 && !strings.HasPrefix(line, "\x1b[") {
			b.WriteString(part)
			continue
		}
		if _, rest, ok := strings.Cut(part, "m"); ok {
			b.WriteString(rest)
		}
	}
	return b.String()
}

// What agents print cannot reach the terminal as codes.
func TestNoCodesOfOthers(t *testing.T) {
	t.Parallel()
	room := acme(0)
	room.Runs[0].What, room.Needs[0].Title, room.Company = "a\x1b[2Jb", "c\x1b]0;x\ad", "Ac\u009bme"
	s := show(t, room, 80, 24, Options{Unicode: true})
	for _, keys := range [][]string{{"1"}, {"2"}, {"4"}} {
		s.typeKeys(keys...)
		if text := strings.Join(s.screen(), "\n"); strings.ContainsAny(text, "\x1b\a\u009b") {
			t.Errorf("after %v: %q", keys, text)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		keys []string
		acts []string
	}{
		{"allow what the selected run asks", []string{"a", "o", "k", "enter"}, []string{`decide permission:1 true "ok" `}},
		{"deny it", []string{"d", "enter"}, []string{`decide permission:1 false "" `}},
		{"keep it", []string{"a", "esc"}, nil},
		{"approve memory only when all of it was seen", []string{"2", "j", "a", "a", "enter"}, []string{`decide memory:2 true "" h1`}},
		{"answer a question instead of approving it", []string{"2", "G", "a", "1", "enter"}, []string{`answer question:3 "1"`}},
		{"an empty answer is none", []string{"2", "G", "A", "enter"}, nil},
		{"say something to a run", []string{"j", "i", "h", "i", "enter"}, []string{`say run_2 "hi"`}},
		{"say something to the run that asks", []string{"2", "i", "w", "enter"}, []string{`say run_1 "w"`}},
		{"send a message", []string{"4", "i", "x", "enter"}, []string{`send conv_1 "x"`}},
		{"stop", []string{"s", "y"}, []string{"stop run_1"}},
		{"stop not", []string{"s", "n"}, nil},
		{"stop nothing that is over", []string{"G", "s", "y"}, nil},
		{"land", []string{"G", "l", "y"}, []string{"land run_4"}},
		{"land not", []string{"l", "esc"}, nil},
		{"start", []string{"n", "enter", "g", "o", "enter"}, []string{`start Ann "go"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := show(t, acme(0), 80, 30, Options{Unicode: true})
			s.typeKeys(c.keys...)
			if !slices.Equal(s.company.acts, c.acts) {
				t.Errorf("%v: %q, want %q; %s", c.keys, s.company.acts, c.acts, s.message)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	l := lineOf("one two")
	for _, name := range []string{"left", "left", "backspace", "x", "home", "delete", "end", "ctrl+w"} {
		l.key(keyNamed(name))
	}
	if l.value() != "ne " {
		t.Errorf("%q", l.value())
	}
	l.insert("日本\x1b[2J\nlast")
	if text, at := l.view(6); strings.ContainsAny(text, "\x1b\n") || at >= 6 || !strings.HasSuffix(text, "last") {
		t.Errorf("%q at %d", text, at)
	}
}

// On a small screen what is to be approved is shown before.
func TestApproveOnSmallScreen(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 50, 15, Options{})
	s.typeKeys("2", "j", "a")
	if s.ask != nil || !s.inBody {
		t.Fatal("it asks before anything was shown")
	}
	for range 10 {
		if s.ask == nil {
			s.typeKeys("a")
		}
	}
	s.typeKeys("enter")
	if want := []string{`decide memory:2 true "" h1`}; !slices.Equal(s.company.acts, want) {
		t.Errorf("%q", s.company.acts)
	}
}

// With --read-only the keys that change the company are not there.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{ReadOnly: true})
	s.typeKeys("a", "enter", "s", "y", "n", "enter", "i", "x", "enter", "l", "y")
	if len(s.company.acts) > 0 || s.ask != nil {
		t.Errorf("%q", s.company.acts)
	}
}

// The selection stays on its id when rows come and go above it.
func TestSelectionStays(t *testing.T) {
	t.Parallel()
	s := show(t, acme(5), 80, 24, Options{})
	s.typeKeys("j", "j")
	room := acme(5)
	room.Runs = append([]Run{{ID: "run_new", Short: "NEW"}}, room.Runs...)
	s.take(roomMsg(room))
	if s.selected() != "run_3" {
		t.Errorf("selected %s", s.selected())
	}
	room.Runs = slices.DeleteFunc(slices.Clone(room.Runs), func(r Run) bool { return r.ID == "run_3" })
	s.take(roomMsg(room))
	if s.selected() != "run_4" {
		t.Errorf("selected %s after it went", s.selected())
	}
}

// A refused act says why in the bottom line, until the next key.
func TestRefusal(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{})
	s.company.fail = errors.New("denied by rule run.stop")
	s.typeKeys("s", "y")
	if lines := s.screen(); !strings.Contains(lines[23], "denied by rule run.stop") {
		t.Errorf("%q", lines[23])
	}
	s.typeKeys("k")
	if lines := s.screen(); strings.Contains(lines[23], "denied") {
		t.Errorf("%q", lines[23])
	}
}

// When the workspace is gone, the first line says so, and the next key quits.
func TestLost(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{})
	s.take(lostMsg{errors.New("no such folder")})
	if lines := s.screen(); !strings.Contains(lines[0], "no such folder") {
		t.Errorf("%q", lines[0])
	}
	if _, cmd := s.Update(keyNamed("j")); cmd == nil {
		t.Fatal("it stays")
	} else if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Errorf("it does not quit")
	}
}

// A picture costs what is on it, not what is in the company.
func TestManyRuns(t *testing.T) { //nolint:paralleltest // it counts allocations
	few, many := show(t, acme(30), 80, 24, Options{}), show(t, acme(3000), 80, 24, Options{})
	a, b := testing.AllocsPerRun(10, func() { few.screen() }), testing.AllocsPerRun(10, func() { many.screen() })
	if b > 2*a {
		t.Errorf("a picture of 3,000 runs takes %v allocations, one of 30 takes %v", b, a)
	}
}
