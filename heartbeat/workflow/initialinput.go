package workflow

// Input of a run beyond its template: texts that were sent before the run began, and notices about
// requests that a template cannot express.

import (
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/shape"
	"ac/runs/session"
	"ac/workspace/doc"
)

// ContinueRequest is the input for running a finished run's flow once more.
type ContinueRequest struct {
	ProjectID, RunID string
	Input            string
	Template         *shape.Value // nil for the template of the last round
	Notices          []string     // for the run's log
	// Place is where the tasks work from now on, if Moves is true. nil is the workspace, or the
	// place of the template.
	Place *doc.JobPlace
	Moves bool
	Actor policy.Actor
}

// keepSaid records the texts that were sent before a run began. The first task receives them.
func (f Flows) keepSaid(record *doc.WorkflowRun, s Start) (list []Event, err error) {
	w := f.Workspace
	for i, text := range s.Said {
		kept := session.SteerResult{
			Accepted: true, SteerID: w.Env.IDs.New("steer"), Delivery: session.DeliveryNextLaunch, QueueLength: i + 1,
		}
		event, draft, err := session.TextEvent(w, doc.Run{ID: record.RunID, ProjectID: record.ProjectID}, session.SteerRequest{Text: text, Actor: s.Actor.ID}, kept)
		if err != nil {
			return nil, err
		}
		record.Steer = append(record.Steer, doc.FlowSteer{SteerID: event.ID, Text: text, At: clock.Stamp(w.Env.Clock.Now())})
		list = append(list, Event{"", draft})
	}
	return list, nil
}

// noticed returns the events of notices.
func noticed(notices []string) (list []Event) {
	for _, message := range notices {
		list = append(list, Event{eventNotice, noticePayload{message}})
	}
	return list
}
