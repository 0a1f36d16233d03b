package session

// Texts that wait for a session, and what other processes write into the log of a run
// whose session does not live.

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Result is what the one who said a text was answered.
func (e SteerEvent) Result() SteerResult {
	return SteerResult{Accepted: true, SteerID: e.ID, Turn: e.Turn, Delivery: e.Delivery, QueueLength: e.QueueLength}
}

// SaidAsPrompt is what somebody is answered who says as a text what began a turn.
func SaidAsPrompt(turn int) SteerResult {
	return SteerResult{Accepted: true, Turn: turn, Delivery: DeliveryNewTurn}
}

// QueueText makes the event of a text that waits for the next session of a run. Where
// the event has not all of it, the whole lies in the outputs when it returns.
func QueueText(w *workspace.Workspace, run doc.Run, p SteerRequest) (SteerEvent, events.Draft, error) {
	waiting, err := WaitingTexts(w, run.ProjectID, run.ID)
	if err == nil && len(waiting) >= MaxSteers {
		err = fault.New(fault.SteerQueueFull, "%d texts wait already", MaxSteers).With(LimitData{MaxSteers})
	}
	if err != nil {
		return SteerEvent{}, events.Draft{}, err
	}
	return TextEvent(w, run, p, SteerResult{SteerID: w.Env.IDs.New("steer"), Delivery: DeliveryNextLaunch, QueueLength: len(waiting) + 1})
}

// TextEvent makes the event of a text in the log of a run, with what the one who said it
// is answered. Where the event has not all of it, the whole lies in the outputs when it
// returns.
func TextEvent(w *workspace.Workspace, run doc.Run, p SteerRequest, as SteerResult) (SteerEvent, events.Draft, error) {
	e := SteerEvent{
		ID: as.SteerID, Text: clip.Head(p.Text, MaxText), TextBytes: len(p.Text), Mode: cmp.Or(p.Mode, ModeNextTurn),
		Delivery: as.Delivery, Turn: as.Turn, QueueLength: as.QueueLength, Display: p.Display, ClientMessageID: p.ClientMessageID,
	}
	if len(e.Text) < len(p.Text) {
		e.Truncated = true
		if err := w.Replace(textFile(run.ProjectID, run.ID, e.ID), []byte(p.Text), 0o644); err != nil {
			return e, events.Draft{}, err
		}
	}
	d, err := w.Events.Draft(events.Draft{
		RunID: run.ID, SessionRef: LocalRef(run.ID), Actor: cmp.Or(p.Actor, "human"), Visibility: events.VisibilityTeam, Type: events.SteerQueued,
	}, e)
	return e, d, err
}

func textFile(project, run, steer string) string {
	return path.Join(workspace.RunDir(project, run), "outputs", steer+".txt")
}

// WaitingTexts are the texts of a run that wait for its next session, in order.
func WaitingTexts(w *workspace.Workspace, project, run string) (list []WaitingText, err error) {
	err = EachEvent(w, workspace.LogFile(project, run), func(kind string, line []byte) {
		var e struct {
			Actor   string     `json:"actor"`
			Payload SteerEvent `json:"payload"`
		}
		switch kind {
		case events.SteerQueued:
			if json.Unmarshal(line, &e) == nil && e.Payload.Delivery == DeliveryNextLaunch {
				list = append(list, WaitingText{SteerEvent: e.Payload, Full: e.Payload.Text, Actor: e.Actor})
			}
		case events.SteerApplied, events.SteerDiscarded:
			if json.Unmarshal(line, &e) == nil {
				for i := range list {
					if list[i].ID == e.Payload.ID {
						list = append(list[:i:i], list[i+1:]...)
						break
					}
				}
			}
		}
	})
	for i := range list {
		if list[i].Truncated && err == nil {
			var whole []byte
			whole, err = durable.ReadFile(w.FS, textFile(project, run, list[i].ID), maxWaiting)
			list[i].Full = string(whole)
		}
	}
	return list, err
}

// maxWaiting bounds a text that waits.
const maxWaiting = 2 << 20

// DiscardRefused is why a text is discarded that no agent can be started for, or takes.
const DiscardRefused = "refused"

// Refused is the event of a text that waited, and for which no session could be started.
func Refused(source events.Source, run, steer string, why error) (events.Draft, error) {
	return source.Draft(events.Draft{
		RunID: run, SessionRef: LocalRef(run), Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: events.SteerDiscarded,
	}, SteerDiscardedPayload{SteerID: steer, Reason: DiscardRefused, Error: clip.Head(why.Error(), MaxError)})
}

// CompactedLater are the events of a run without a live session that is to begin its next
// one with a digest.
func CompactedLater(source events.Source, run, actor string) (list []events.Draft, err error) {
	base := events.Draft{RunID: run, SessionRef: LocalRef(run), Actor: actor, Visibility: events.VisibilityTeam, Type: events.CompactRequested}
	asked, err := source.Draft(base, CompactRequestedPayload{CompactDigest})
	base.Actor, base.Visibility, base.Type = events.ActorSystem, events.VisibilityOrg, events.Compacted
	done, doneErr := source.Draft(base, CompactedPayload{How: CompactDigest, OK: true})
	return []events.Draft{asked, done}, errors.Join(err, doneErr)
}
