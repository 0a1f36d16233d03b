package company

// Rows of runs in the room.

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/runs"
	"ac/runs/transcript"
	"ac/snapshot"
	"ac/snapshot/room"
	"ac/workspace"
	"ac/workspace/doc"
)

// roomRun returns the row of a run. waiting is how many requests of its agent are open. job is
// the job that the run is an attempt of, "" for none.
func (c *Company) roomRun(ctx context.Context, m *snapshot.MonitorRow, waiting int, job string) room.Change {
	row := room.Run{
		Project: m.ProjectID, Agent: m.AgentID, Provider: m.Provider, Status: m.RunStatus, At: m.CreatedAt, Tk: "none", Ck: "none",
		Flags: roomFlags(m), Open: waiting, Job: job, RetryOf: m.RetryOf, Sessions: 1,
	}
	if m.LastEvent != nil {
		row.Seq = m.LastEvent.Seq
	}
	if s := m.RowSession; s != nil {
		row.Started = clock.Stamp(time.UnixMilli(s.StartedAtMS))
		row.WorkerID, row.Reach = s.WorkerID, s.Reach
		row.Exit, row.ErrorKind, row.Error = s.ExitCode, s.ErrorKind, needs.Line(s.Error)
		if s.EndedAtMS != nil {
			row.Ended = clock.Stamp(time.UnixMilli(*s.EndedAtMS))
		}
	}
	if u := m.TokenUsage; u != nil {
		row.Tokens, row.Cost, row.Tk = &u.TotalTokens, u.CostUSD, "estimated"
		if u.Confidence == "high" {
			row.Tk = "reported"
		}
		if u.CostUSD != nil {
			row.Ck = "rate"
			if u.CostSource != nil && *u.CostSource == "provider_reported" {
				row.Ck = "reported"
			}
		}
	}
	c.roomRecord(ctx, m, &row)
	return room.Change{Key: room.Key{Table: room.TableRuns, ID: m.RunID}, Project: m.ProjectID, Row: row}
}

// roomFlags returns the warnings that the log of a run contains.
func roomFlags(m *snapshot.MonitorRow) []string {
	flags := []string{}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"policy_denied", m.PolicyDenied > 0}, {"over_budget", m.BudgetExceeded > 0}, {"budget_alert", m.BudgetAlerts > 0}, {"parse_errors", m.ParseErrors > 0},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// roomRecord adds what the files of the run hold. What it cannot read stays unknown.
func (c *Company) roomRecord(ctx context.Context, m *snapshot.MonitorRow, row *room.Run) {
	run, err := runs.Load(c.w, m.ProjectID, m.RunID)
	if err != nil {
		return
	}
	if run.Live != nil {
		row.Sessions = max(1, run.Live.Sessions)
	}
	if row.Ended == "" && doc.Terminal(run.Status) {
		row.Ended = run.EndedAt
	}
	if run.LogIntegrity != nil {
		row.Flags = append(row.Flags, "chain_broken")
	}
	if run.Landed != nil {
		row.Changed = run.Landed.Files
	}
	if run.Spec != nil {
		row.Model, row.Task, row.Title = run.Spec.Model, run.Spec.TaskID, needs.Line(c.What(run))
	}
	row.Workflow = c.w.Exists(path.Join(workspace.RunDir(run.ProjectID, run.ID), "workflow.yaml"))
	if doc.Terminal(run.Status) {
		row.Line = needs.Line(c.lastMessage(run))
		return
	}
	_ = c.host.logs.RunState(ctx, c.w, run.ProjectID, run.ID, func(f *transcript.Fold) {
		state := f.State()
		row.Activity, row.Turn, row.Changed = state.Activity, state.Turn, f.ChangedFiles()
		if used, ok := f.Used(); ok && (row.Tokens == nil || used.Tokens > *row.Tokens) { // of all sessions
			row.Tokens, row.Tk = &used.Tokens, "reported"
			if row.Cost = used.Cost; used.Cost != nil {
				row.Ck = "reported"
			}
		}
		if line, at := f.LastLine(); line != "" {
			row.Line, row.SaidAt = needs.Line(line), at
		}
	}) // an unreadable log has no line
}

// maxLastMessage bounds the message whose last line is shown, in bytes.
const maxLastMessage = 64 << 10

// lastMessage returns the last line of the agent's last message.
func (c *Company) lastMessage(run doc.Run) string {
	text, err := durable.ReadFile(c.w.FS, path.Join(workspace.RunDir(run.ProjectID, run.ID), "outputs", "last_message.md"), maxLastMessage)
	if err != nil {
		return ""
	}
	said := strings.TrimSpace(string(text))
	return said[strings.LastIndexByte(said, '\n')+1:]
}

// RoomRunRow converts a run of the room to a row of the lists for people, as far as the room
// knows it.
func RoomRunRow(id string, r room.Run) RunRow {
	row := RunRow{
		RunID: id, ProjectID: r.Project, Status: r.Status, ExitCode: r.Exit, Error: OrNil(r.Error), AgentID: r.Agent, Provider: r.Provider,
		What: OrNil(r.Title), CreatedAt: OrNil(r.At), StartedAt: OrNil(r.Started), EndedAt: OrNil(r.Ended),
		Tokens: r.Tokens, TokensEstimated: r.Tk == "estimated", CostUSD: r.Cost, TaskID: OrNil(r.Task), Waiting: r.Open,
	}
	switch {
	case r.Status == doc.StatusRunning && r.Started == "":
		row.State = StateNew
	case r.Status == doc.StatusRunning && r.Open > 0:
		row.State = StateAsks
	case r.Status == doc.StatusRunning && r.Activity == transcript.ActivityIdle:
		row.State = StateIdle
	case r.Status == doc.StatusRunning && r.Ended != "":
		row.State = StateLost
	case r.Status == doc.StatusRunning:
		row.State = StateRunning
	case r.Status == doc.StatusEnded:
		row.State = StateDone
	case r.Status == doc.StatusStopped:
		row.State = StateStopped
	default:
		row.State = failureWord(slices.Contains(r.Flags, "over_budget"), r.ErrorKind, nil, r.Exit, r.Error)
	}
	return row
}
