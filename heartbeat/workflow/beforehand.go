package workflow

// What the client of a run brings beside its template: texts that were said before the run
// began, and notices of what its own format asked for and a template cannot say.

import (
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/shape"
	"ac/runs/session"
	"ac/workspace/doc"
)

// Again is what the flow of a run that is over is run with once more.
type Again struct {
	ProjectID, RunID string
	Input            string
	Template         *shape.Value // nil for that of the last round
	Notices          []string     // that its log gets
	// Place is where its tasks work from now on, where Moves says that this changes; nil is
	// the workspace, or the place of the template.
	Place *doc.JobPlace
	Moves bool
	Actor policy.Actor
}

// keepSaid notes the texts that were said before a run began: its first task is given them.
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

// noticed are the events of notices.
func noticed(notices []string) (list []Event) {
	for _, message := range notices {
		list = append(list, Event{eventNotice, noticePayload{message}})
	}
	return list
}
