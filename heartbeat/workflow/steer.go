package workflow

// Texts that people send to a run. A running attempt receives them if its agent has a live session,
// else the next task does.

import (
	"context"
	"encoding/json"
	"slices"

	"ac/events"
	"ac/heartbeat/job"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/agent"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// steerEnd is the payload of the event that ends a text.
type steerEnd struct {
	SteerID string `json:"steer_id"`
	Turn    int    `json:"turn"`
	How     string `json:"how"`
}

// Steer sends a text to a run. The first running attempt that accepts it receives it, else the next
// task, in the next round if the run is over. The text is durable on return. The errors are those
// of runs.Steer.
func (f Flows) Steer(ctx context.Context, a runs.Act, p session.SteerRequest) (result session.SteerResult, err error) {
	run, err := runs.Load(f.Workspace, a.ProjectID, a.RunID)
	if err != nil {
		return result, err
	}
	if known, ok, err := runs.FindSentMessage(f.Workspace, run, p.ClientMessageID); ok || err != nil {
		return known, err
	}
	if err := runs.MayAct(ctx, f.Workspace, a); err != nil {
		return result, err
	}
	if p.Actor = a.Actor.ID; p.Mode == session.ModeAfterTurn {
		p.Mode = session.ModeNextTurn
	}
	if len(p.Text) > maxInserted {
		most := float64(maxInserted)
		return result, fault.Invalid(fault.Issue{Path: []any{"text"}, Code: "text_too_large", Message: "is too long for a task of a workflow", Maximum: &most})
	}
	record, err := Load(f.Workspace, a.ProjectID, a.RunID)
	if err != nil {
		return result, err
	}
	for _, at := range f.attempts(ctx, record) {
		taken, err := runs.Steer(ctx, f.Workspace, runs.Act{ProjectID: a.ProjectID, RunID: at.run, Actor: a.Actor}, p, false)
		if fault.Is(err, fault.RunNotLive) {
			continue // its session is just ending
		}
		if err != nil {
			return taken, err
		}
		return taken, f.keepSteer(ctx, run, p, &taken, at)
	}
	return result, f.keepSteer(ctx, run, p, &result, attempt{})
}

// keepSteer records a text in the record and the log of a run. at is the attempt that received it.
// It is the zero value if none did; keepSteer then completes result. If the attempt's step is
// already over, keepSteer also records the end of the text, because nothing polls that step again.
func (f Flows) keepSteer(ctx context.Context, run doc.Run, p session.SteerRequest, result *session.SteerResult, at attempt) error {
	step := at.step
	_, err := f.change(ctx, run.ProjectID, run.ID, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		known, ok, err := runs.FindSentMessage(f.Workspace, run, p.ClientMessageID)
		if err != nil {
			return nil, err
		}
		if ok {
			*result = known // a concurrent request sent it first
			return nil, errUnchanged
		}
		waiting := 0
		for _, s := range r.Steer {
			if s.UsedBy == "" {
				waiting++
			}
		}
		if step == "" && waiting >= session.MaxSteers {
			return nil, fault.New(fault.SteerQueueFull, "%d texts wait already for the next task of run %s", waiting, run.ID).With(steerLimit{session.MaxSteers})
		}
		if step == "" {
			*result = session.SteerResult{
				Accepted: true, SteerID: f.Workspace.Env.IDs.New("steer"), Delivery: session.DeliveryNextLaunch, QueueLength: waiting + 1,
			}
		}
		event, draft, err := session.TextEvent(f.Workspace, run, p, *result)
		if err != nil {
			return nil, err
		}
		r.Steer = append(slices.Clone(r.Steer), doc.FlowSteer{
			SteerID: event.ID, Text: p.Text, At: clock.Stamp(f.Workspace.Env.Clock.Now()), UsedBy: step,
		})
		told := []Event{{"", draft}}
		if slices.ContainsFunc(r.Steps, func(s doc.FlowStep) bool { return s.Step == step && s.Over() }) {
			said := func(s doc.FlowSteer) bool { return s.SteerID == event.ID }
			told = append(told, endSteers(f.Workspace, r, said, at.run)...)
		}
		return told, nil
	})
	return err
}

// steerLimit is the detail of fault.SteerQueueFull.
type steerLimit struct {
	Limit int `json:"limit"`
}

// attempt identifies a running attempt of a step.
type attempt struct{ step, run string }

// attempts returns the running attempts of a run's live steps whose agents accept texts now.
func (f Flows) attempts(ctx context.Context, record doc.WorkflowRun) (list []attempt) {
	for _, at := range f.atWork(record) {
		if _, session, live, err := runs.LiveSession(ctx, f.Workspace, record.ProjectID, at.run); err == nil && live && session.Driver != "" && session.Driver != doc.LiveCommand {
			list = append(list, at)
		}
	}
	return list
}

// Attempts returns the run ids of the newest attempts of a run's live steps.
func (f Flows) Attempts(record doc.WorkflowRun) (ids []string) {
	for _, at := range f.atWork(record) {
		ids = append(ids, at.run)
	}
	return ids
}

func (f Flows) atWork(record doc.WorkflowRun) (list []attempt) {
	for _, s := range record.Steps {
		if s.Over() || s.JobID == "" {
			continue
		}
		if found, err := job.Load(f.Workspace, record.ProjectID, s.JobID); err == nil && found.Last() != nil {
			list = append(list, attempt{s.Step, found.Last().RunID})
		}
	}
	return list
}

// settleSteers records the end of the texts that the attempts of a step received while they ran. A
// text that no agent applied waits for the next task.
func (e *engine) settleSteers(w *workspace.Workspace, step string, found doc.Job) {
	given := func(s doc.FlowSteer) bool { return s.UsedBy == step }
	attempts := make([]string, len(found.Attempts))
	for i, a := range found.Attempts {
		attempts[i] = a.RunID
	}
	e.d.Events = append(e.d.Events, endSteers(w, &e.d.Record, given, attempts...)...)
}

// endSteers records the end of the texts that given selects, from the logs of some attempts.
func endSteers(w *workspace.Workspace, r *doc.WorkflowRun, given func(doc.FlowSteer) bool, attempts ...string) (told []Event) {
	if !slices.ContainsFunc(r.Steer, given) {
		return nil
	}
	applied, dropped := map[string]steerEnd{}, map[string]bool{}
	for _, run := range attempts {
		// If a log cannot be read, its texts stay assigned to the step.
		_ = session.EachEvent(w, workspace.LogFile(r.ProjectID, run), func(kind string, line []byte) {
			var event struct{ Payload steerEnd }
			if (kind != events.SteerApplied && kind != events.SteerDiscarded) || json.Unmarshal(line, &event) != nil {
				return
			}
			if kind == events.SteerApplied {
				applied[event.Payload.SteerID] = event.Payload
			} else {
				dropped[event.Payload.SteerID] = true
			}
		})
	}
	r.Steer = slices.Clone(r.Steer)
	for i := range r.Steer {
		s := &r.Steer[i]
		if end, ok := applied[s.SteerID]; ok && given(*s) {
			told = append(told, Event{events.SteerApplied, end})
		} else if dropped[s.SteerID] && given(*s) {
			s.UsedBy = ""
		}
	}
	return told
}

// useSteers assigns the waiting texts to a step that begins.
func (e *engine) useSteers(step string) {
	for i := range e.d.Record.Steer {
		if s := &e.d.Record.Steer[i]; s.UsedBy == "" {
			s.UsedBy = step
			e.tell(events.SteerApplied, steerEnd{SteerID: s.SteerID, How: string(agent.Continuation)})
		}
	}
}

// Interrupt stops the current turns of the running attempts. It returns fault.NoActiveTurn if no
// turn can be interrupted, and fault.RunNotLive if the run is over.
func (f Flows) Interrupt(ctx context.Context, a runs.Act, expected int) (result session.InterruptResult, err error) {
	if err := runs.MayAct(ctx, f.Workspace, a); err != nil {
		return result, err
	}
	record, err := Load(f.Workspace, a.ProjectID, a.RunID)
	if err != nil {
		return result, err
	}
	if record.Over() {
		return result, fault.New(fault.RunNotLive, "run %s is over (%s)", a.RunID, record.Status)
	}
	for _, at := range f.attempts(ctx, record) {
		one, err := runs.Interrupt(ctx, f.Workspace, runs.Act{ProjectID: a.ProjectID, RunID: at.run, Actor: a.Actor}, expected)
		switch {
		case fault.Is(err, fault.RunNotLive), fault.Is(err, fault.NoActiveTurn):
		case err != nil:
			return result, err
		case !result.Interrupted:
			result = one
		}
	}
	if !result.Interrupted {
		return result, fault.New(fault.NoActiveTurn, "no task of run %s is in a turn that can be interrupted", a.RunID)
	}
	return result, nil
}
