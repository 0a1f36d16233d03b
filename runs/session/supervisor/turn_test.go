package supervisor_test

// Turns of the app server, played by the test binary.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/events"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

func (s *stage) turn(prompt string) session.Order { return s.turnOf(session.DriverCodex, prompt) }

// turnOf returns an order for a scripted agent of a driver.
func (s *stage) turnOf(driver, prompt string) session.Order {
	s.t.Helper()
	provider := map[string]string{session.DriverCodex: "codex_app_server", session.DriverClaude: "claude", session.DriverACP: "acp_script"}[driver]
	var argv []string
	if driver == session.DriverACP {
		argv = []string{s.launcher.Executable, "--acp-script"}
	}
	err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) {
		if argv == nil {
			m.ProviderBins[provider] = s.launcher.Executable
			return
		}
		m.AgentCommands = map[string][]string{provider: argv}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	made, err := runs.Create(s.ctx, s.w, s.project, "agent", provider)
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Order{
		WorkspaceDir: s.w.Dir(), ProjectID: s.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID),
		AgentID: "agent", Provider: provider, Live: &session.LiveOrder{
			Driver: driver, Prompt: prompt, Model: "m", Version: "1", Cause: session.CauseLaunch,
			Policy: doc.RunPolicy{Mode: doc.ModeFullAuto, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}},
		},
	}
}

func TestTurnCompletes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.turn("compacted; hello")
	record := s.execute(order)
	if record.Status != doc.StatusEnded || record.ExitCode == nil || *record.ExitCode != 0 || record.Mode != doc.KindAppServer ||
		record.ThreadID != "th_1" || record.TurnID != "tu_1" {
		t.Errorf("record %+v", record)
	}
	run, err := runs.Load(s.w, order.ProjectID, order.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if run.Spec.Kind != doc.KindAppServer || run.Spec.ThreadID != "th_1" || run.Spec.TurnID != "tu_1" || run.Spec.Model != "m" ||
		run.Usage.TotalTokens != 35 || run.Usage.CapturedFromEventType != "thread/tokenUsage/updated" || run.ContextCycles.Count != 1 {
		t.Errorf("spec %+v, usage %+v, cycles %+v", run.Spec, run.Usage, run.ContextCycles)
	}
	for name, want := range map[string]string{"last_message.md": "hello", "prompt.txt": "compacted; hello"} {
		text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.RunDir(order.ProjectID, order.RunID), "outputs", name))
		if err != nil || string(text) != want {
			t.Errorf("%s: %q (%v)", name, text, err)
		}
	}
	lines := s.log(order)
	last := lines[len(lines)-1]
	if !strings.Contains(last, `"completion_status":"completed","completion_error":null`) {
		t.Error(last)
	}
	if !strings.Contains(strings.Join(lines, "\n"), `"type":"run.executing","payload":{"mode":"codex_app_server"`) {
		t.Error("run.executing does not tell the mode")
	}
}

func TestTurnVanishes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.turn("vanish")
	record := s.execute(order)
	if record.Status != doc.StatusFailed || *record.ExitCode != 1 || !strings.Contains(record.Error, "before its turn was completed") {
		t.Errorf("record %+v", record)
	}
}

func TestTurnStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.turn("hold")
	s.launch(order)
	s.until("the turn is known", func() bool {
		run, err := runs.Load(s.w, order.ProjectID, order.RunID)
		return err == nil && run.Spec != nil && run.Spec.TurnID != ""
	})
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	record := s.collect(order)
	if record.Status != doc.StatusStopped || *record.ExitCode != 1 {
		t.Errorf("record %+v", record)
	}
	lines := s.log(order)
	if last := lines[len(lines)-1]; events.Type([]byte(last)) != events.RunStopped || !strings.Contains(last, `"completion_status":"interrupted"`) {
		t.Error(last)
	}
}
