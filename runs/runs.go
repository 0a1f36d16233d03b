// Package runs manages the lifecycle of runs: creating, listing and replaying them, and
// launching their sessions. Package runs/session executes sessions.
//
// Invariants:
//   - A run appears atomically, with its whole directory.
//   - A terminal run is never launched again.
//   - The policy decision about a launch is in an audit log before anything starts.
package runs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// CreateResult holds the ids of a new run.
type CreateResult struct {
	RunID         string
	ContextPackID string
}

// startedPayload is the payload of run.started.
type startedPayload struct {
	ProjectID     string `json:"project_id"`
	AgentID       string `json:"agent_id"`
	Provider      string `json:"provider"`
	ContextPackID string `json:"context_pack_id"`
	RetryOf       string `json:"retry_of,omitempty"`
	StartedFrom   string `json:"started_from,omitempty"`
}

// Create creates a run with its context pack, atomically and durably. The project must exist.
// The agent need not exist.
func Create(ctx context.Context, w *workspace.Workspace, project, agent, provider string) (made CreateResult, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		made, err = CreateIn(u, project, agent, provider)
		return err
	})
	if err == nil {
		w.NotifyAppend(workspace.LogFile(project, made.RunID))
	}
	return made, err
}

// CreateIn is Create as part of a unit. After the unit is committed, the caller must notify
// subscribers of the new log (workspace.NotifyAppend).
func CreateIn(u *workspace.Unit, project, agent, provider string) (CreateResult, error) {
	return CreateWith(u, project, agent, provider, Beginning{})
}

// Beginning holds the initial content of a run.
type Beginning struct {
	RunID  string // "" generates one; fault.RunExists if it is taken
	Files  []workspace.TreeFile
	Events []events.Draft // appended after run.started
	Budget *doc.Budget
	// End is the run's initial status if it ends immediately, "" for running. Events must
	// contain the end.
	End string
	// Title is the run's title. StartKey is the client's id of the request. RetryOf is the run
	// that this one retries. From names the origin of the request. Each may be "".
	Title, StartKey, RetryOf, From string
	ProgramVersion                 string // of the agent's program, "" if unknown
	Placement                      *doc.Placement
}

// trees holds the directories of a new run and of its context pack.
type trees struct{ run, pack workspace.Tree }

// CreateWith is CreateIn for a run with initial content.
func CreateWith(u *workspace.Unit, project, agent, provider string, b Beginning) (CreateResult, error) {
	w := u.Workspace()
	made, begun, err := newRunTrees(w, project, agent, provider, b)
	if err != nil {
		return made, err
	}
	if _, err := w.Project(project); err != nil {
		return made, err
	}
	if err := u.Create(workspace.ContextPackDir(project, made.ContextPackID), begun.pack); err != nil {
		return made, err
	}
	return made, u.Create(workspace.RunDir(project, made.RunID), begun.run)
}

// newRunTrees builds the content of a new run. It writes nothing.
func newRunTrees(w *workspace.Workspace, project, agent, provider string, b Beginning) (made CreateResult, begun trees, err error) {
	made = CreateResult{RunID: b.RunID, ContextPackID: w.Env.IDs.New("ctx")}
	if made.RunID == "" {
		made.RunID = w.Env.IDs.New("run")
	} else if w.Exists(workspace.RunDir(project, made.RunID)) {
		return made, begun, fault.New(fault.RunExists, "run %s exists already in project %s", made.RunID, project)
	}
	now := w.Env.Clock.Now()
	draft, err := w.Events.Draft(events.Draft{
		At: now, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID), Actor: events.ActorSystem,
		Visibility: events.VisibilityOrg, Type: events.RunStarted,
	}, startedPayload{
		ProjectID: project, AgentID: agent, Provider: provider, ContextPackID: made.ContextPackID, RetryOf: b.RetryOf, StartedFrom: b.From,
	})
	if err != nil {
		return made, begun, err
	}
	record := doc.Run{
		SchemaVersion: doc.Version, Type: "run", ID: made.RunID, ProjectID: project, AgentID: agent, Provider: provider,
		CreatedAt: clock.Stamp(now), Status: doc.StatusRunning, ContextPackID: made.ContextPackID,
		EventsRelpath: path.Join("runs", made.RunID, events.FileName), Title: b.Title, StartKey: b.StartKey, ProgramVersion: b.ProgramVersion, Budget: b.Budget, Placement: b.Placement,
	}
	if b.End != "" {
		record.Status, record.EndedAt = b.End, clock.Stamp(now)
	}
	run, err := doc.RunCodec.Encode(record)
	if err != nil {
		return made, begun, err
	}
	begun.pack, err = contextPack(w, made, project, agent, clock.Stamp(now))
	begun.run = workspace.Tree{
		Dirs: []string{"outputs"},
		Files: slices.Concat([]workspace.TreeFile{
			{Name: "run.yaml", Content: run}, {Name: events.FileName, Content: events.Encode(append([]events.Draft{draft}, b.Events...)...)},
		}, b.Files),
	}
	return made, begun, err
}

// contextPack builds the skeleton of a context pack.
func contextPack(w *workspace.Workspace, made CreateResult, project, agent, now string) (workspace.Tree, error) {
	manifest, err := doc.ContextPackCodec.Encode(doc.ContextPack{
		SchemaVersion: doc.Version, Type: "context_pack_manifest", ID: made.ContextPackID, CreatedAt: now,
		RunID: made.RunID, ProjectID: project, AgentID: agent,
	})
	if err != nil {
		return workspace.Tree{}, err
	}
	snapshot, err := doc.PolicySnapshotCodec.Encode(doc.PolicySnapshot{
		SchemaVersion: doc.Version, Type: "policy_snapshot", ID: w.Env.IDs.New("art"), CreatedAt: now, RunID: made.RunID,
	})
	return workspace.Tree{
		Dirs:  []string{"bundle"},
		Files: []workspace.TreeFile{{Name: "manifest.yaml", Content: manifest}, {Name: "policy_snapshot.yaml", Content: snapshot}},
	}, err
}

// Load reads the record of a run. The error is fault.NotFound if there is none. A record with
// another id is an error.
func Load(w *workspace.Workspace, project, run string) (doc.Run, error) {
	file := workspace.RunFile(project, run)
	record, err := workspace.Load(w, doc.RunCodec, file)
	if fault.Is(err, fault.NotFound) {
		return record, fault.New(fault.NotFound, "run %s does not exist in project %s", run, project)
	}
	if err != nil {
		return record, err
	}
	return record, workspace.CheckID(file, run, record.ID)
}

// ListRow is one run in a list.
type ListRow struct {
	ProjectID string `json:"project_id"`
	RunID     string `json:"run_id"`
	CreatedAt string `json:"created_at"`
	Status    string `json:"status"`
	Provider  string `json:"provider"`
	AgentID   string `json:"agent_id"`
}

// List lists the runs of a workspace, or of one project, newest first. It skips
// invalid records.
func List(w *workspace.Workspace, project string) ([]ListRow, error) {
	projects := []string{project}
	if project == "" {
		if _, err := w.FS.Stat(workspace.ProjectsDir); err != nil {
			return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", workspace.ProjectsDir, err)
		}
		var err error
		if projects, err = workspace.Dirs(w.FS, workspace.ProjectsDir); err != nil {
			return nil, err
		}
	}
	type dated struct {
		ListRow
		at time.Time
	}
	found := []dated{}
	for _, p := range projects {
		file := func(id string) string { return workspace.RunFile(p, id) }
		of, err := workspace.LoadFolders(w, doc.RunCodec, workspace.RunsDir(p), file, func(_ string, run doc.Run) (dated, error) {
			at, _ := clock.Parse(run.CreatedAt)
			return dated{ListRow{p, run.ID, run.CreatedAt, run.Status, run.Provider, run.AgentID}, at}, nil
		})
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
	}
	slices.SortFunc(found, func(a, b dated) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.RunID, a.RunID)) })
	rows := make([]ListRow, len(found))
	for i := range found {
		rows[i] = found[i].ListRow
	}
	return rows, nil
}

// openLog opens the log of a run for reading. The error is fault.NotFound if there is none.
func openLog(w *workspace.Workspace, project, run string) (log fileReader, err error) {
	log, err = w.FS.OpenFile(workspace.LogFile(project, run), 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "run %s of project %s has no %s", run, project, events.FileName)
	}
	return log, err
}

// EndIn ends a run that never had a session, as part of a unit. It queues the run's record and
// last, the event that closes its log. A run that is finished or has a live session stays as it
// is.
func EndIn(u *workspace.Unit, project, runID, status string, last events.Draft) error {
	w := u.Workspace()
	file := workspace.RunFile(project, runID)
	run, err := workspace.LoadIn(u, doc.RunCodec, file)
	if err != nil {
		return err
	}
	if doc.Terminal(run.Status) || session.RunAlive(w, project, runID) {
		return nil
	}
	run.Status, run.EndedAt = status, clock.Stamp(last.At)
	if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
		return err
	}
	u.Append(workspace.LogFile(project, runID), last)
	return nil
}
