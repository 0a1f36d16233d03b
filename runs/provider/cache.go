package provider

// A cache of what programs report about themselves, valid while the program's
// file is unchanged.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"ac/internal/durable"
	"ac/workspace"
)

// Cache queries programs and caches their answers in the workspace, because one query of a CLI
// can take seconds. It is safe for concurrent use. It does not merge concurrent queries.
type Cache struct {
	Workspace *workspace.Workspace // nil disables the cache
	// Environ is the environment of the queried programs.
	Environ []string
	// Frozen disables writing to the cache.
	Frozen bool
}

// cacheEntry is the cache entry of one program.
type cacheEntry struct {
	Path      string      `json:"path"`
	Size      int64       `json:"size"`
	MTime     int64       `json:"mtime_ns"`
	About     *Provenance `json:"about,omitempty"`
	Abilities *Abilities  `json:"abilities,omitempty"`
	Probe     *Probe      `json:"probe,omitempty"`
}

// maxCacheEntry is the size limit of a cache entry's file, in bytes.
const maxCacheEntry = 64 << 10

// cacheFile returns the file name of a program's cache entry for one use.
func cacheFile(program, use string) string {
	sum := sha256.Sum256([]byte(program + "\x00" + use))
	return workspace.TempDir + "/probe_" + hex.EncodeToString(sum[:8]) + ".json"
}

// load returns the cache entry of a program if it matches the program's size and mtime, else a
// new entry. ok is false if the program's file does not exist or the cache is disabled.
func (c Cache) load(program, use string) (known cacheEntry, ok bool) {
	st, err := os.Stat(program)
	if err != nil || c.Workspace == nil {
		return known, false
	}
	now := cacheEntry{Path: program, Size: st.Size(), MTime: st.ModTime().UnixNano()}
	text, err := durable.ReadFile(c.Workspace.FS, cacheFile(program, use), maxCacheEntry)
	if err != nil || json.Unmarshal(text, &known) != nil || known.Path != now.Path || known.Size != now.Size || known.MTime != now.MTime {
		return now, true
	}
	return known, true
}

// store writes a cache entry, best effort.
func (c Cache) store(known cacheEntry, use string) {
	text, err := json.Marshal(known)
	if err == nil && !c.Frozen && durable.MkdirAll(c.Workspace.FS, workspace.TempDir, 0o755) == nil {
		_ = c.Workspace.Replace(cacheFile(known.Path, use), append(text, '\n'), 0o600)
	}
}

// About returns the provenance of a worker's output.
func (c Cache) About(ctx context.Context, name, program string) Provenance {
	known, ok := c.load(program, "about")
	if ok && known.About != nil {
		about := *known.About
		about.Provider = name
		return about
	}
	about := About(ctx, name, program, c.Environ)
	if ok && about.Version != nil && ctx.Err() == nil {
		known.About = &about
		c.store(known, "about")
	}
	return about
}

// abilitiesUse changes whenever the queries change. This invalidates older cache entries.
const abilitiesUse = "abilities of 3"

// Abilities returns the features that a program supports. It does not cache missing answers.
func (c Cache) Abilities(ctx context.Context, cli CLI, program string) Abilities {
	known, ok := c.load(program, abilitiesUse)
	if ok && known.Abilities != nil {
		return *known.Abilities
	}
	able, answered := AbilitiesOf(ctx, cli, program, c.Environ)
	if ok && answered && ctx.Err() == nil {
		known.Abilities = &able
		c.store(known, abilitiesUse)
	}
	return able
}
