package audit

// Checkpoints: signed notes over the size and the root of the tree.

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
)

// Checkpoint is the signed content: origin, size, root and time, one line each.
type Checkpoint struct {
	Origin   string    `json:"origin"`
	Size     int64     `json:"size"`
	Root     tlog.Hash `json:"root"`
	SealedAt string    `json:"sealed_at"`
}

func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n%s\n", c.Origin, c.Size, c.Root, c.SealedAt)
}

// originOf identifies the company of the history.
func originOf(w *workspace.Workspace) (string, error) {
	company, err := w.Company()
	return keyName + "/" + company.ID, err
}

// readCheckpoint opens a signed note. If none of the keys signed it, the error is fault.Denied.
func readCheckpoint(name string, text []byte, keys ...note.Verifier) (c Checkpoint, err error) {
	signed, err := note.Open(text, note.VerifierList(keys...))
	if err != nil {
		return c, &fault.Error{Reason: fault.Denied, Message: name + " has no valid signature by the key: " + err.Error(), Cause: err}
	}
	for _, s := range signed.Sigs {
		// A signature must have only one encoding.
		if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
			return c, fault.New(fault.Denied, "the signature of %s is not in its canonical form: %w", name, err)
		}
	}
	return parseCheckpoint(name, signed.Text)
}

func parseCheckpoint(name, text string) (c Checkpoint, err error) {
	broken := fault.New(fault.InvalidFile, "%s is not a checkpoint", name)
	lines := strings.Split(text, "\n")
	if len(lines) < 5 {
		return c, broken
	}
	c.Origin, c.SealedAt = lines[0], lines[3]
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 1 {
		return c, broken
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return c, broken
	}
	if _, ok := clock.Parse(c.SealedAt); !ok || !strings.HasPrefix(c.Origin, keyName+"/") {
		return c, broken
	}
	return c, nil
}

// checkpoints lists the checkpoints of a workspace, sorted by the size of their trees.
func checkpoints(w *workspace.Workspace) (names []string, err error) {
	files, err := workspace.Files(w.FS, checkpointsDir, ".txt")
	for _, name := range files {
		if _, ok := sizeOf(name); ok {
			names = append(names, path.Join(checkpointsDir, name))
		}
	}
	return names, err
}

// LastSealed returns when a workspace was last sealed, according to its newest checkpoint. ok is
// false if it never was, or that checkpoint is unreadable. It verifies nothing.
func LastSealed(w *workspace.Workspace) (at time.Time, ok bool) {
	names, err := checkpoints(w)
	if err != nil || len(names) == 0 {
		return at, false
	}
	newest := slices.Max(names)
	text, err := w.Read(newest)
	if err != nil {
		return at, false
	}
	body, _, _ := strings.Cut(string(text), "\n\n")
	c, err := parseCheckpoint(newest, body+"\n")
	if err != nil {
		return at, false
	}
	return clock.Parse(c.SealedAt)
}
