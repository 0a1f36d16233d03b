package provider

// What programs say of themselves, remembered in a workspace for as long as the
// program at a path is the same file.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"ac/internal/durable"
	"ac/workspace"
)

// Cache asks programs, and remembers their answers in the workspace: a CLI may
// need seconds for each. It is safe for concurrent use; what two ask at once is
// asked twice.
type Cache struct {
	Workspace *workspace.Workspace // nil for none
	// Environ is the environment that programs are asked in.
	Environ []string
	// Frozen remembers nothing that was not known before.
	Frozen bool
}

// remembered is what is kept of one program.
type remembered struct {
	Path      string      `json:"path"`
	Size      int64       `json:"size"`
	MTime     int64       `json:"mtime_ns"`
	About     *Provenance `json:"about,omitempty"`
	Abilities *Abilities  `json:"abilities,omitempty"`
	Probe     *Probe      `json:"probe,omitempty"`
}

// maxRemembered bounds the file of one program.
const maxRemembered = 64 << 10

// rememberedFile is where the answers of a program to one use of it are kept.
func rememberedFile(program, use string) string {
	sum := sha256.Sum256([]byte(program + "\x00" + use))
	return workspace.TempDir + "/probe_" + hex.EncodeToString(sum[:8]) + ".json"
}

// recall is what is known of a program, as it is now. ok is false when there is
// no such file.
func (c Cache) recall(program, use string) (known remembered, ok bool) {
	st, err := os.Stat(program)
	if err != nil || c.Workspace == nil {
		return known, false
	}
	now := remembered{Path: program, Size: st.Size(), MTime: st.ModTime().UnixNano()}
	text, err := durable.ReadFile(c.Workspace.FS, rememberedFile(program, use), maxRemembered)
	if err != nil || json.Unmarshal(text, &known) != nil || known.Path != now.Path || known.Size != now.Size || known.MTime != now.MTime {
		return now, true
	}
	return known, true
}

// keep is a convenience: what cannot be kept is asked again.
func (c Cache) keep(known remembered, use string) {
	text, err := json.Marshal(known)
	if err == nil && !c.Frozen && durable.MkdirAll(c.Workspace.FS, workspace.TempDir, 0o755) == nil {
		_ = c.Workspace.Replace(rememberedFile(known.Path, use), append(text, '\n'), 0o600)
	}
}

// About is where a worker's words come from.
func (c Cache) About(ctx context.Context, name, program string) Provenance {
	known, ok := c.recall(program, "about")
	if ok && known.About != nil {
		about := *known.About
		about.Provider = name
		return about
	}
	about := About(ctx, name, program, c.Environ)
	if ok && about.Version != nil && ctx.Err() == nil {
		known.About = &about
		c.keep(known, "about")
	}
	return about
}

// abilitiesUse changes with the questions: an answer to fewer is none.
const abilitiesUse = "abilities of 3"

// Abilities are what a program takes. What it did not answer is not remembered.
func (c Cache) Abilities(ctx context.Context, cli CLI, program string) Abilities {
	known, ok := c.recall(program, abilitiesUse)
	if ok && known.Abilities != nil {
		return *known.Abilities
	}
	able, answered := AbilitiesOf(ctx, cli, program, c.Environ)
	if ok && answered && ctx.Err() == nil {
		known.Abilities = &able
		c.keep(known, abilitiesUse)
	}
	return able
}
