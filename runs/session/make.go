package session

// Making a run and its session as one act: the run, its context pack and the record of
// its session are one unit, so that no run stands without a session, nor the other way
// round, wherever a process dies.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/workspace"
)

// NewRun is a run that is made with its session.
type NewRun struct {
	ContextPackID string         `json:"context_pack_id"`
	Pack          workspace.Tree `json:"pack"`
	Run           workspace.Tree `json:"run"`
	// Key is the client's id of the request, nil for none.
	Key *StartKey `json:"key,omitempty"`
}

// StartKey is what the start of a run by a client's id is remembered by. An order has
// the key and the content alone.
type StartKey struct {
	ProjectID string `json:"project_id"`
	Key       string `json:"key"`
	Content   string `json:"content"` // digest of what was asked for
	RunID     string `json:"run_id"`
	Ref       string `json:"session_ref"`
	At        string `json:"at"`
}

// keyLife is how long the id of a request stands for its first answer.
const keyLife = 24 * time.Hour

// StartFile is where a StartKey lies.
func StartFile(project, key string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + key))
	return path.Join(workspace.StartsDir, hex.EncodeToString(sum[:])+".json")
}

// StartedBy is the start that a client's id stands for; ok is false for none within a
// day.
func StartedBy(w *workspace.Workspace, project, key string) (found StartKey, ok bool) {
	text, err := durable.ReadFile(w.FS, StartFile(project, key), 1<<16)
	if err != nil || json.Unmarshal(text, &found) != nil {
		return StartKey{}, false
	}
	return found, found.Key == key && found.ProjectID == project && found.fresh(w.Env.Clock.Now())
}

// fresh reports whether a start is less than a day old.
func (k StartKey) fresh(now time.Time) bool {
	at, ok := clock.Parse(k.At)
	return ok && now.Sub(at) < keyLife
}

// ForgetStarts removes what is remembered of starts that are older than a day. What
// cannot be read or removed stays.
func ForgetStarts(w *workspace.Workspace) {
	entries, err := w.FS.ReadDir(workspace.StartsDir)
	if err != nil {
		return
	}
	now := w.Env.Clock.Now()
	for _, entry := range entries {
		if st, err := entry.Info(); err == nil && now.Sub(st.ModTime()) > 2*keyLife {
			_ = w.FS.Remove(path.Join(workspace.StartsDir, entry.Name()))
		}
	}
}
