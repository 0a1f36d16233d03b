package job

// What programs say of themselves, remembered across jobs for as long as the
// program at a path is the same file.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"ac/internal/durable"
	"ac/runs/provider"
	"ac/workspace"
)

// abilities asks programs, and remembers their answers in the workspace. It is
// for one goroutine.
type abilities struct {
	w       *workspace.Workspace
	environ []string
}

// remembered is what is kept of one program.
type remembered struct {
	Path    string               `json:"path"`
	Size    int64                `json:"size"`
	MTime   int64                `json:"mtime_ns"`
	About   *provider.Provenance `json:"about,omitempty"`
	Schemas *bool                `json:"schemas,omitempty"`
}

// maxRemembered bounds the file of one program.
const maxRemembered = 64 << 10

func rememberedFile(program string) string {
	sum := sha256.Sum256([]byte(program))
	return ".local/tmp/probe_" + hex.EncodeToString(sum[:8]) + ".json"
}

// recall gives what is known of a program, as it is now.
func (a abilities) recall(program string) (known remembered, ok bool) {
	st, err := os.Stat(program)
	if err != nil {
		return known, false
	}
	now := remembered{Path: program, Size: st.Size(), MTime: st.ModTime().UnixNano()}
	text, err := durable.ReadFile(a.w.FS, rememberedFile(program), maxRemembered)
	if err != nil || json.Unmarshal(text, &known) != nil || known.Path != now.Path || known.Size != now.Size || known.MTime != now.MTime {
		return now, true
	}
	return known, true
}

// keep is a convenience: what cannot be kept is asked again.
func (a abilities) keep(known remembered) {
	text, err := json.Marshal(known)
	if err == nil && durable.MkdirAll(a.w.FS, ".local/tmp", 0o755) == nil {
		_ = a.w.Replace(rememberedFile(known.Path), append(text, '\n'), 0o600)
	}
}

// about is where a worker's words come from.
func (a abilities) about(ctx context.Context, name, program string) provider.Provenance {
	known, ok := a.recall(program)
	if ok && known.About != nil {
		about := *known.About
		about.Provider = name
		return about
	}
	about := provider.About(ctx, name, program, a.environ)
	if ok && about.Version != nil && ctx.Err() == nil {
		known.About = &about
		a.keep(known)
	}
	return about
}

// taken tells whether a program takes a JSON Schema.
func (a abilities) taken(ctx context.Context, cli provider.CLI, program string) bool {
	known, ok := a.recall(program)
	if ok && known.Schemas != nil {
		return *known.Schemas
	}
	var schemas provider.Schemas
	taken := schemas.Taken(ctx, cli, program, a.environ)
	// No answer is no denial, but a program that has shown its help gave one.
	if ok && (taken || known.About != nil && known.About.HelpHash != nil) && ctx.Err() == nil {
		known.Schemas = &taken
		a.keep(known)
	}
	return taken
}
