package company

// Consoles of this process: whether the system supports them, and their audit log.

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/terminal"
	"ac/workspace"
)

// consoleAudit is a line of .local/audit/terminals.jsonl.
type consoleAudit struct {
	At         string `json:"at"`
	Action     string `json:"action"` // opened, closed or exited
	TerminalID string `json:"terminal_id"`
	ActorID    string `json:"actor_id"`
	Via        string `json:"via,omitempty"`
	Shell      string `json:"shell"`
	CWD        string `json:"cwd"`
	PID        int    `json:"pid"`
	ExitCode   *int   `json:"exit_code,omitempty"`
}

// AuditConsole appends an action on a console to the audit log of the workspace. The line is
// synced on return.
func AuditConsole(w *workspace.Workspace, now time.Time, action, actorID, via string, i terminal.Info) error {
	line, err := json.Marshal(consoleAudit{clock.Stamp(now), action, i.ID, actorID, via, i.Shell, i.CWD, i.PID, i.ExitCode})
	if err == nil {
		err = durable.MkdirAll(w.FS, path.Dir(workspace.TerminalsLog), 0o755)
	}
	if err == nil {
		err = appendLine(w.FS, workspace.TerminalsLog, line)
	}
	if err != nil {
		return fault.New(fault.IO, "%s: %w", workspace.TerminalsLog, err)
	}
	return nil
}

// appendLine appends one line to a file and syncs it. Only this user can read the file.
func appendLine(fsys durable.FS, name string, line []byte) error {
	file, err := fsys.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = durable.WriteAll(file, append(line, '\n'))
	if err == nil {
		err = file.SyncData()
	}
	return errors.Join(err, file.Close())
}

// ptysHere reports whether this system has pseudo-terminals and process groups.
const ptysHere = runtime.GOOS == "linux" || runtime.GOOS == "darwin"

// drawLetters returns a generator of random base-32 letters and digits. hexOf supplies the random
// bytes as hexadecimal.
func drawLetters(hexOf func(bytes int) string) func(n int) string {
	return func(n int) string {
		raw, err := hex.DecodeString(hexOf(n))
		if err != nil {
			panic("company: the source of ids makes no hexadecimal") // cannot happen
		}
		for i, b := range raw {
			raw[i] = "abcdefghijklmnopqrstuvwxyz234567"[b&31]
		}
		return string(raw)
	}
}

// consoleEnded records the exit of a shell, if its workspace still exists.
func (cs *Host) consoleEnded(dir string, i terminal.Info) {
	w, err := cs.In(dir).workspace(context.Background())
	if err == nil {
		err = AuditConsole(w, cs.Now(), "exited", i.CreatedBy, "", i)
	}
	if err != nil && cs.stderr != nil {
		_, _ = fmt.Fprintf(cs.stderr, "[terminals] %s: %v\n", dir, err) // best effort
	}
}

// CloseTerminals ends the consoles of this process for good. It takes at most a second and is
// idempotent.
func (cs *Host) CloseTerminals() {
	if cs.terminals != nil {
		cs.terminals.Close()
	}
}
