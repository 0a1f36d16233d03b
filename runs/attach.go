package runs

// Additions to a run without a message to its agent: attached files, and clearing a plan.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Limits of attachments, in bytes: one file, and all files of a run.
const (
	MaxAttachment  = 25 << 20
	maxAttachments = 100 << 20
)

// limitData is the error data of too_large.
type limitData struct {
	Limit int64 `json:"limit"`
}

// Attachment is a file attached to a run.
type Attachment struct {
	ID        string `json:"attachment_id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Relpath   string `json:"relpath"`
}

// Attach stores a file with a run in any state. The file and its event are durable on return.
// Attach does not notify the agent; a message to it may name the file.
func Attach(ctx context.Context, w *workspace.Workspace, a Act, name, mediaType string, content []byte) (Attachment, error) {
	none := Attachment{}
	run, err := Load(w, a.ProjectID, a.RunID)
	if err == nil {
		err = mayAct(ctx, w, run, a.Actor)
	}
	if err != nil {
		return none, err
	}
	sum := sha256.Sum256(content)
	made := Attachment{ID: w.Env.IDs.New("att"), Name: name, MediaType: mediaType, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	file := made.ID + "-" + safeName(name)
	made.Relpath = path.Join("runs", run.ID, "outputs/attachments", file)
	dir := path.Join(workspace.RunDir(run.ProjectID, run.ID), "outputs/attachments")
	told, err := actEvent(w, run, a, events.RunAttached, made)
	if err != nil {
		return none, err
	}
	// The workspace lock prevents two concurrent calls from using the same free space.
	err = w.Update(ctx, func(u *workspace.Unit) error {
		used, err := sizeOf(w, dir)
		if err == nil {
			err = requireNear(w, run)
		}
		switch {
		case err != nil:
			return err
		case made.Size > MaxAttachment:
			return fault.New(fault.TooLarge, "a file of %d bytes cannot be attached; the limit is %d", made.Size, MaxAttachment).With(limitData{MaxAttachment})
		case used+made.Size > maxAttachments:
			return fault.New(fault.TooLarge, "the files of run %s would have more than %d bytes", run.ID, maxAttachments).With(limitData{maxAttachments})
		}
		if err := durable.MkdirAll(w.FS, dir, 0o755); err != nil {
			return err
		}
		if err := w.Replace(path.Join(dir, file), content, 0o600); err != nil {
			return err
		}
		u.Append(workspace.LogFile(run.ProjectID, run.ID), told)
		return nil
	})
	if err != nil {
		_ = w.FS.Remove(path.Join(dir, file)) // orphaned: no event names it
		return none, err
	}
	return made, nil
}

// requireNear refuses a run whose session is on another machine. That machine only received the
// files attached before the launch.
func requireNear(w *workspace.Workspace, run doc.Run) error {
	records, err := session.All(w)
	for _, r := range records {
		if r.ProjectID == run.ProjectID && r.RunID == run.ID && r.Remote() && !doc.Terminal(r.Status) {
			return fault.New(fault.Unsupported, "the session of run %s lives on another machine: attach a file before it is launched, or say its text", run.ID)
		}
	}
	return err
}

// safeName replaces characters that are unsafe in file names.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		}
		return '-'
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	if len(safe) > 100 { // keep the end, with the extension
		safe = safe[len(safe)-100:]
	}
	return safe
}

// sizeOf returns the total size of the files in a directory.
func sizeOf(w *workspace.Workspace, dir string) (size int64, err error) {
	entries, err := w.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if st, statErr := w.FS.Lstat(path.Join(dir, e.Name())); statErr == nil {
			size += st.Size()
		}
	}
	return size, err
}

// ClearPlan hides the plan of a run's agent until the agent makes another. The change is durable
// on return.
func ClearPlan(ctx context.Context, w *workspace.Workspace, a Act) error {
	run, err := Load(w, a.ProjectID, a.RunID)
	if err == nil {
		err = mayAct(ctx, w, run, a.Actor)
	}
	if err != nil {
		return err
	}
	told, err := actEvent(w, run, a, events.PlanCleared, struct{}{})
	if err != nil {
		return err
	}
	return w.Append(ctx, workspace.LogFile(run.ProjectID, run.ID), told)
}

// actEvent builds the event for an action on a run.
func actEvent(w *workspace.Workspace, run doc.Run, a Act, kind string, payload any) (events.Draft, error) {
	return w.Events.Draft(events.Draft{
		RunID: run.ID, SessionRef: session.LocalRef(run.ID), Actor: a.Actor.ID, Visibility: events.VisibilityTeam, Type: kind,
	}, payload)
}
