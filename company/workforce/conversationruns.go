package workforce

// Runs that are conversations with an agent, for dialects. Each comes with its record and the
// size and time of its log, which is not read.

import (
	"context"
	"path"
	"strings"
	"time"

	"ac/company"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// ConversationRunsParams select conversations.
type ConversationRunsParams struct {
	company.Dir
	ProjectID string `json:"-"`
	RunID     string `json:"-"` // "" for all
	// All includes the other runs of the project.
	All bool `json:"-"`
}

// RunWithLog is a run with the state of its log. Spoken is false if the run is not a conversation
// but an attempt of a job, an evaluation, a part of a pipeline, a workflow, or a command given by
// a caller.
type RunWithLog struct {
	doc.Run
	IsConversation bool
	Alive          bool // the run has a live session
	Size           int64
	Changed        time.Time
}

// ConversationRuns lists the conversations of a project, unordered. If RunID does not exist, the error
// is fault.NotFound.
func (c Operations) ConversationRuns(_ context.Context, p ConversationRunsParams) ([]RunWithLog, error) {
	if err := company.CheckIDs(company.NamedText{Name: "project_id", Value: p.ProjectID}); err != nil {
		return nil, err
	}
	if p.RunID != "" {
		if err := company.CheckIDs(company.NamedText{Name: "run_id", Value: p.RunID}); err != nil {
			return nil, err
		}
		run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
		if err != nil {
			return nil, err
		}
		attempts, err := c.attempts(p.RunID)
		return []RunWithLog{c.runWithLog(run, attempts)}, err
	}
	attempts, err := c.attempts("")
	if err != nil {
		return nil, err
	}
	file := func(id string) string { return workspace.RunFile(p.ProjectID, id) }
	return workspace.LoadFolders(c.Workspace(), doc.RunCodec, workspace.RunsDir(p.ProjectID), file, func(_ string, run doc.Run) (RunWithLog, error) {
		found := c.runWithLog(run, attempts)
		if !found.IsConversation && !p.All {
			return found, fault.New(fault.NotFound, "run %s is no conversation", run.ID)
		}
		return found, nil
	})
}

// attempts returns the runs that are attempts of jobs. run selects one run, "" all.
func (c Operations) attempts(run string) (map[string]bool, error) {
	records, err := session.NamedAfter(c.Workspace(), run)
	found := map[string]bool{}
	for _, r := range records {
		if job.IsAttempt(r.Ref, r.RunID) {
			found[r.RunID] = true
		}
	}
	return found, err
}

func (c Operations) runWithLog(run doc.Run, attempts map[string]bool) RunWithLog {
	found := RunWithLog{Run: run}
	launched := run.Live != nil && run.Live.Driver != ""
	// A run with a policy was meant as a conversation, even if its start failed.
	fresh := run.Spec == nil && (!doc.Terminal(run.Status) || run.Live != nil) && c.talks(run.AgentID, run.Provider)
	found.IsConversation = (launched || fresh) && !attempts[run.ID] && run.Provider != workflow.Provider
	if st, err := c.Workspace().FS.Stat(workspace.LogFile(run.ProjectID, run.ID)); err == nil {
		found.Size, found.Changed = st.Size(), st.ModTime()
	}
	if !doc.Terminal(run.Status) {
		found.Alive = session.RunAlive(c.Workspace(), run.ProjectID, run.ID)
	}
	return found
}

// talks reports whether people can talk with an agent: its provider has a live driver, or the
// agent's document has a command line.
func (c Operations) talks(agent, provider string) bool {
	if doc.ProviderNamed(provider).Live != "" {
		return true
	}
	words, err := runs.CommandTemplate(c.Workspace(), doc.Run{AgentID: agent})
	return err == nil && len(words) > 0
}

// TalkAgent returns the named agent, or the first agent by name, that people can talk with. If
// there is none, the error is fault.NotFound.
func (c Operations) TalkAgent(_ context.Context, p TalkAgentParams) (found doc.Agent, err error) {
	agents, err := c.Workspace().Agents()
	if err != nil {
		return found, err
	}
	ok := false
	for _, a := range agents {
		switch {
		case strings.HasPrefix(a.ID, workspace.SecretaryPrefix), p.AgentID != "" && a.ID != p.AgentID, ok && found.Name <= a.Name:
		case c.talks(a.ID, a.Provider):
			found, ok = a, true
		}
	}
	if !ok {
		return found, fault.New(fault.NotFound, "there is no agent that can be talked with")
	}
	return found, nil
}

// TalkAgentParams name an agent, "" for the first that people can talk with.
type TalkAgentParams struct {
	company.Dir
	AgentID string `json:"-"`
}

// AttachmentParams identify a file attached to a run.
type AttachmentParams struct {
	company.Dir
	ProjectID string `json:"-"`
	RunID     string `json:"-"`
	// Relpath is its path as returned by run.attach.
	Relpath string `json:"-"`
}

// AttachmentPath returns the path of an attached file on this machine.
func (c Operations) AttachmentPath(_ context.Context, p AttachmentParams) (string, error) {
	name, err := attachmentFile(p)
	return path.Join(c.Path(), name), err
}

// ReadAttachment reads a file attached to a run.
func (c Operations) ReadAttachment(_ context.Context, p AttachmentParams) ([]byte, error) {
	name, err := attachmentFile(p)
	if err != nil {
		return nil, err
	}
	content, err := durable.ReadFile(c.Workspace().FS, name, runs.MaxAttachment)
	if durable.IsAbsent(err) {
		err = fault.New(fault.NotFound, "the file is gone")
	}
	return content, err
}

// attachmentFile returns the path of an attachment in the workspace. Any other path is
// fault.NotFound.
func attachmentFile(p AttachmentParams) (string, error) {
	if err := company.CheckIDs(company.NamedText{Name: "project_id", Value: p.ProjectID}, company.NamedText{Name: "run_id", Value: p.RunID}); err != nil {
		return "", err
	}
	dir := path.Join("runs", p.RunID, "outputs/attachments")
	if base, ok := strings.CutPrefix(p.Relpath, dir+"/"); ok && base != "" && base != "." && base != ".." && !strings.Contains(base, "/") {
		return path.Join(workspace.RunDir(p.ProjectID, p.RunID), "outputs/attachments", base), nil
	}
	return "", fault.New(fault.NotFound, "run %s has no such file", p.RunID)
}
