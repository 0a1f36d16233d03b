package cli

// The file that records which workspaces this user works in, and the project in use in each.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/workspace"
)

// KeptContext is the content of that file, most recently used workspace first.
type KeptContext struct {
	Version    int             `json:"version"`
	Workspaces []keptWorkspace `json:"workspaces"`
}

type keptWorkspace struct {
	Path      string `json:"path"`
	ProjectID string `json:"project_id,omitempty"`
	UsedAt    string `json:"used_at"`
}

const (
	contextFile    = "context.json"
	contextVersion = 1
	maxContext     = 1 << 20
)

// Project returns the project in use in a workspace, "" for none.
func (k KeptContext) Project(dir string) string {
	for _, w := range k.Workspaces {
		if w.Path == workspace.Canonical(dir) {
			return w.ProjectID
		}
	}
	return ""
}

// stateDir returns the folder for the state of this user's programs.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ac"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state", "ac"), err
}

// ReadContext reads the file. If the file cannot be read, it prints a note and returns an empty
// context.
func (a *App) ReadContext() KeptContext {
	dir, err := stateDir()
	if err != nil {
		return KeptContext{}
	}
	root, err := durable.OpenRoot(dir)
	if err != nil {
		return KeptContext{} // no state was ever saved
	}
	defer root.Close()
	kept, err := contextIn(root)
	if err != nil {
		fmt.Fprintf(a.Stderr, "note: %s cannot be read: %s\n", filepath.Join(dir, contextFile), OneLine(err.Error()))
	}
	return kept
}

func contextIn(root durable.FS) (kept KeptContext, err error) {
	text, err := durable.ReadFile(root, contextFile, maxContext)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return KeptContext{}, err
	}
	if kept.Version > contextVersion {
		return KeptContext{}, fmt.Errorf("it is of version %d", kept.Version)
	}
	return kept, nil
}

// RememberWorkspace records a workspace and the project in use there. It holds a kernel lock and
// replaces the file atomically, even an unreadable one.
func RememberWorkspace(ctx context.Context, dir, project string) (err error) {
	state, err := stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	root, err := durable.OpenRoot(state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	hold, err := lock.Wait(ctx, root, contextFile+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	kept, _ := contextIn(root) // ReadContext has reported it
	env := workspace.SystemEnv()
	now := keptWorkspace{workspace.Canonical(dir), project, clock.Stamp(env.Clock.Now())}
	rest := slices.DeleteFunc(kept.Workspaces, func(w keptWorkspace) bool { return w.Path == now.Path })
	kept = KeptContext{contextVersion, slices.Concat([]keptWorkspace{now}, rest)}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	namer := durable.Namer{PID: env.PID, UnixMS: func() int64 { return env.Clock.Now().UnixMilli() }, Random: env.IDs.Hex}
	return namer.Write(root, contextFile, append(text, '\n'), 0o600)
}
