package main

// Recording the output of providers.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ac/internal/durable"
	"ac/runs/session"
	"ac/workspace"
)

// printer returns the command of a provider that repeats one line, with this many bytes in total.
func printer(line string, bytes int) []string {
	return []string{"sh", "-c", fmt.Sprintf("yes '%s' | head -c %d", line, bytes)}
}

// jsonLine returns a line of 280 bytes such as agent CLIs stream.
func jsonLine() string {
	line := `{"type":"item.completed","item":{"id":"item_17","type":"command_execution","command":"go test ./...","status":"completed","exit_code":0,"aggregated_output":"`
	return line + strings.Repeat("ok  ", (279-len(line)-3)/4) + `"}}`
}

// recordBare does only what recording must do: read the pipe, hash, write two files and sync them.
func (b *bench) recordBare(ctx context.Context, argv []string) (took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var files []durable.File
	root, err := durable.OpenRoot(b.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range []string{"recorded.txt", "recorded.jsonl"} {
		f, err := rawLog(root, name)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		files = append(files, f)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(files[0], files[1], hash), out, make([]byte, 64<<10)); err != nil {
		return 0, err
	}
	err = errors.Join(cmd.Wait(), files[0].SyncData(), files[1].SyncData())
	return time.Since(began), err
}

func measureRecording(ctx context.Context, b *bench) (found []figure, err error) {
	dir, project, err := b.workplace(ctx, "recording")
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, of := range []struct {
		what   string
		line   string
		megas  int
		target float64
	}{
		{"100 MB of text", "a line of output such as a build or a test prints, some eighty bytes of it all", 100, 50},
		{"200 MB of JSON lines", jsonLine(), 200, 60},
	} {
		argv := printer(of.line, of.megas*1e6)
		bare, err := b.recordBare(ctx, argv)
		if err != nil {
			return found, err
		}
		took, peak, err := c.record(dir, project, argv, int64(of.megas)*1e6)
		if err != nil {
			return found, err
		}
		found = append(found,
			figure{Name: "recording " + of.what, Unit: "MB/s", Seen: float64(of.megas) / took.Seconds(), Target: of.target, AtLeast: true, Limit: float64(of.megas) / bare.Seconds(), By: "the same read, hashed, written twice, synced", Note: "from the launch to the collected end"},
			figure{Name: "supervisor's peak while recording " + of.what, Unit: "MB", Seen: peak, Target: 60, Note: "VmHWM"})
	}
	return found, nil
}

// record launches a provider that prints size bytes, and waits for its end.
func (c *child) record(dir, project string, argv []string, size int64) (took time.Duration, peak float64, err error) {
	run, err := c.newRun(dir, project)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := c.call("session.launch", map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run, "argv": argv}, nil); err != nil {
		return 0, 0, err
	}
	supervisor, _, err := processes(dir, session.LocalRef(run))
	if err != nil {
		return 0, 0, err
	}
	highest := watchPeak(supervisor)
	err = c.call("session.collect", map[string]any{"workspace_dir": dir, "session_ref": session.LocalRef(run)}, nil)
	took, peak = time.Since(began), highest()
	if err != nil {
		return took, peak, err
	}
	recorded, err := os.Stat(filepath.Join(dir, filepath.FromSlash(workspace.RunDir(project, run)), "outputs/stdout.txt"))
	if err == nil && recorded.Size() != size {
		err = fmt.Errorf("%d of %d bytes were recorded", recorded.Size(), size)
	}
	return took, peak, err
}
