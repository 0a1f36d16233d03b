package top

// Test fixtures: a company and a screen.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

// company is a source with fixed data that records the calls that change something.
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

// acme returns the company of the golden files, with more additional finished runs.
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

// screen runs a Model without a terminal, and keeps the messages that its source sends.
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

// take passes a message to the model and runs the command that it returns.
func (s *screen) take(msg tea.Msg) {
	_, cmd := s.Update(msg)
	s.run(cmd)
}

// run runs a command and passes its message to the model. Ticks never arrive.
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

// settle passes pending messages to the model until the lines of the selected run have arrived.
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

// typeKeys presses keys by name.
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
