package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

// TestThisMachine checks the machine in several environments: a locale without UTF-8, and shells
// with and without completion.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	status := func(id string, env map[string]string) string {
		env["HOME"] = home
		for _, c := range ThisMachine(t.Context(), func(name string) string { return env[name] }) {
			if c.ID == id {
				return c.Status
			}
		}
		return ""
	}
	for _, c := range []struct {
		id, want string
		env      map[string]string
	}{
		{"machine.terminal", Pass, map[string]string{"TERM": "dumb"}},
		{"machine.terminal", Pass, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}},
		{"machine.terminal", Warn, map[string]string{"TERM": "xterm", "LANG": "C"}},
		{"machine.completion", Pass, map[string]string{"SHELL": "/bin/ash"}},
		{"machine.completion", Warn, map[string]string{"SHELL": "/bin/fish"}},
	} {
		if got := status(c.id, c.env); got != c.want {
			t.Errorf("%s with %v is %q, want %q", c.id, c.env, got, c.want)
		}
	}
	if got := status("machine.git", map[string]string{}); got != Pass && got != Warn {
		t.Errorf("machine.git is %q", got)
	}
	if err := os.WriteFile(filepath.Join(home, ".zshrc"), []byte("source <(ac completion zsh)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := status("machine.completion", map[string]string{"SHELL": "/usr/bin/zsh"}); got != Pass {
		t.Errorf("a shell whose start-up file loads the completion is %q", got)
	}
}
