package session

// Creating a run and its session atomically. The run, its context pack and the session's record
// are one unit: a crash never leaves a run without a session, or the reverse.

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

// NewRun is a run to be created together with its session.
type NewRun struct {
	ContextPackID string         `json:"context_pack_id"`
	Pack          workspace.Tree `json:"pack"`
	Run           workspace.Tree `json:"run"`
	// Key is the client's request id, nil for none.
	Key *StartKey `json:"key,omitempty"`
}

// StartKey records the start of a run under a client's request id, for idempotent retries. In an
// order, only Key and Content are set.
type StartKey struct {
	ProjectID string `json:"project_id"`
	Key       string `json:"key"`
	Content   string `json:"content"` // digest of the request
	RunID     string `json:"run_id"`
	Ref       string `json:"session_ref"`
	At        string `json:"at"`
}

// keyLife is how long a request id returns its first answer.
const keyLife = 24 * time.Hour

// StartFile returns the path of a StartKey.
func StartFile(project, key string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + key))
	return path.Join(workspace.StartsDir, hex.EncodeToString(sum[:])+".json")
}

// StartedBy returns the start recorded under a client's request id. ok is false if there is none
// within a day.
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

// ForgetStarts removes records of starts older than two days. It leaves those that it cannot read
// or remove.
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
