package snapshot

// A manager's screen, as one snapshot.

import (
	"context"

	"ac/index"
	"ac/index/worker"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxComments bounds the comments of a screen.
const maxComments = 300

// UI is the content of a manager's screen.
type UI struct {
	Header
	SyncWorker worker.Status `json:"index_sync_worker"`
	Heartbeat  Heartbeat     `json:"heartbeat"`
	Monitor    Monitor       `json:"monitor"`
	Inbox      Inbox         `json:"review_inbox"`
	Usage      Usage         `json:"usage_analytics"`
	Colleagues []Colleague   `json:"colleagues"`
	Comments   []doc.Comment `json:"comments"`
}

// UIRequest holds the parameters of a screen.
type UIRequest struct {
	Request
	Project    string // "" for all
	Runs       int    // limits of the lists
	Pending    int
	Decisions  int
	SyncWorker worker.Status // of this process
}

// TakeUI reads a screen of a workspace in one read transaction.
func TakeUI(ctx context.Context, w *workspace.Workspace, ix *index.Index, r UIRequest) (result UI, err error) {
	err = At(ctx, w, ix, r.Request, func(m *View) (err error) {
		result, err = m.UI(r)
		return err
	})
	return result, err
}

// UI reads a screen from a view that other parts share.
func (m *View) UI(r UIRequest) (result UI, err error) {
	result = UI{Header: m.taken, SyncWorker: r.SyncWorker, Heartbeat: readHeartbeat(m.w), Comments: []doc.Comment{}}
	if result.Monitor, err = m.Monitor(r.Project, r.Runs); err != nil {
		return result, err
	}
	if result.Inbox, err = m.Inbox(r.Project, r.Pending, r.Decisions); err != nil {
		return result, err
	}
	if result.Usage, err = m.Usage(r.Project, r.Runs); err != nil {
		return result, err
	}
	if result.Colleagues, err = m.Colleagues(&result.Monitor, &result.Inbox); err != nil {
		return result, err
	}
	if r.Project != "" {
		result.Comments, err = m.view.Comments(index.CommentFilter{ProjectID: r.Project, Limit: maxComments})
	}
	return result, err
}
