package heartbeat

// Arbitration decides what happens to an action that a worker proposes. The decision is a pure
// function of the action, the state and the circumstances.

import (
	"strings"
	"time"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// outcome is the decision about an action.
type outcome int

const (
	skipped outcome = iota
	deduped
	queued
	executed
)

// circumstances are the other inputs of a decision.
type circumstances struct {
	now         time.Time // in the time zone of quiet hours
	config      doc.HeartbeatConfig
	quarantined bool   // a quarantined state exists: earlier executions are unknown
	executed    int    // actions executed in this tick, over all reports
	misfit      bool   // the action cannot be carried out, or contains a secret
	stop        string // hard stop: why only a person may allow it, "" for none
}

// Reasons why an action waits for a person.
const (
	tickCap    = "The cap on automatic actions of a tick is reached"
	hourCap    = "The cap on automatic actions of an hour is reached"
	quietHours = "Quiet hours"
	riskGate   = "Risk above low"
)

// decision is a decision. note reports whether the state records the action's key. why is the
// rationale of the proposal.
type decision struct {
	outcome outcome
	note    bool
	why     string
}

// decide decides about an action. The caller has already removed expired keys from the state.
func decide(state doc.HeartbeatState, action doc.Action, c circumstances) decision {
	if _, known := state.Idempotency[action.IdempotencyKey]; known {
		return decision{outcome: deduped}
	}
	if c.misfit {
		return decision{outcome: skipped}
	}
	why, gated := gate(state, action, c)
	if c.stop != "" {
		why, gated = hardStopMark+c.stop, true
	}
	switch {
	case !gated:
		return decision{outcome: executed, note: true}
	case action.ProjectID == "":
		return decision{outcome: skipped, note: true}
	}
	return decision{outcome: queued, note: true, why: why}
}

// gate reports whether a person must decide, and why.
func gate(state doc.HeartbeatState, action doc.Action, c circumstances) (why string, gated bool) {
	// Workers grade the risk of their own actions, so "low" is not trusted for a job with more than
	// read-only rights.
	rights := action.Kind == doc.ActionLaunchJob && action.PermissionLevel != "" && action.PermissionLevel != "read-only"
	switch {
	case c.executed >= c.config.MaxAutoActionsPerTick:
		return tickCap, true
	case state.HourlyActionCounters[hourKey(c.now)] >= int64(c.config.MaxAutoActionsPerHour):
		return hourCap, true
	case action.Kind == doc.ActionAddComment && InQuietHours(c.config, c.now):
		return quietHours, true
	case action.Kind == doc.ActionCreateApproval, action.NeedsApproval, action.Risk != "low", rights, c.quarantined:
		return riskGate, true
	}
	return "", false
}

// Bounds of an action's key and comment.
const (
	maxKeyBytes     = 512
	maxCommentBytes = 64 << 10
)

// checkAction returns why an action cannot be carried out, nil if it can. Reasons are an unsafe id, a
// reference to something missing, a text that is too long or empty, or a proposed action of another
// project.
func checkAction(w *workspace.Workspace, action doc.Action) error {
	if len(action.IdempotencyKey) > maxKeyBytes {
		return fault.New(fault.Unsupported, "its key has more than %d bytes", maxKeyBytes)
	}
	if err := CheckIDs(action.ActionBody); err != nil {
		return err
	}
	if action.ProjectID != "" {
		if _, err := w.Project(action.ProjectID); err != nil {
			return err
		}
	}
	switch action.Kind {
	case doc.ActionLaunchJob:
		return unroutable(w, action.ActionBody)
	case doc.ActionAddComment:
		return checkComment(action.ActionBody)
	case doc.ActionCreateApproval:
		if err := doc.CheckTitle(action.Title); err != nil || action.ProposedAction == nil {
			return err
		}
		inner := *action.ProposedAction
		if inner.ProjectID != "" && inner.ProjectID != action.ProjectID {
			return fault.New(fault.Conflict, "its proposed action belongs to project %s, not to %s", inner.ProjectID, action.ProjectID)
		}
		return checkAction(w, doc.Action{ActionBody: inner})
	}
	return nil
}

// CheckIDs refuses an action with an id that could escape its directory (path traversal).
func CheckIDs(action doc.ActionBody) error {
	for _, id := range []string{
		action.ProjectID, action.WorkerAgentID, action.TaskID, action.MilestoneID,
		strings.TrimSpace(action.TargetAgentID), strings.TrimSpace(action.TargetArtifactID), strings.TrimSpace(action.TargetRunID),
	} {
		if id != "" && !workspace.SafeID(id) {
			return fault.New(fault.InvalidFile, "%q cannot be an id", id)
		}
	}
	return nil
}

// unroutable returns why no worker can run the job of an action, nil if one can.
func unroutable(w *workspace.Workspace, action doc.ActionBody) error {
	why, err := job.UnroutableReason(w, JobOf(w, action))
	if err == nil && why != "" {
		err = fault.New(fault.NotFound, "%s", why)
	}
	return err
}

func checkComment(action doc.ActionBody) error {
	switch {
	case strings.TrimSpace(action.Body) == "":
		return fault.New(fault.Incomplete, "a comment needs a body")
	case len(action.Body) > maxCommentBytes:
		return fault.New(fault.Unsupported, "the body has more than %d bytes", maxCommentBytes)
	case strings.TrimSpace(action.TargetAgentID+action.TargetArtifactID+action.TargetRunID) == "":
		return fault.New(fault.Incomplete, "a comment needs a target")
	}
	return nil
}
