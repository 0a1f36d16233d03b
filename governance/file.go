package governance

// Markdown files outside of workspaces that people start from.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// WriteFile writes a file anywhere and creates its directories. It replaces an existing file only
// if force is set. The write is atomic and durable on return.
func WriteFile(env workspace.Env, file string, text []byte, force bool) error {
	dir, base := filepath.Split(filepath.Clean(file))
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fsys, err := durable.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer fsys.Close()
	if force {
		if st, err := fsys.Stat(base); err == nil && !st.Mode().IsRegular() {
			return fault.New(fault.Conflict, "%s is no regular file", file)
		}
		namer := durable.Namer{PID: env.PID, UnixMS: func() int64 { return env.Clock.Now().UnixMilli() }, Random: env.IDs.Hex}
		return namer.Write(fsys, base, text, 0o644)
	}
	err = durable.WriteNew(fsys, base, text, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "%s exists already (replace it with --force)", file)
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(".")
}
