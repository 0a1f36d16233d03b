package session

// Texts that wait for a session, and the events that other processes write to the log of a run
// without a live session.

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

// Result returns the original reply to the text's sender.
func (e SteerEvent) Result() SteerResult {
	return SteerResult{Accepted: true, SteerID: e.ID, Turn: e.Turn, Delivery: e.Delivery, QueueLength: e.QueueLength}
}

// SteerResultForPrompt returns the reply to a steer whose text had already begun a turn.
func SteerResultForPrompt(turn int) SteerResult {
	return SteerResult{Accepted: true, Turn: turn, Delivery: DeliveryNewTurn}
}

// QueueText returns the event of a text that waits for the run's next session. If the event
// truncates the text, the full text is durable in the outputs on return.
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

// TextEvent returns the event of a text in a run's log, with the reply to its sender. If the
// event truncates the text, the full text is durable in the outputs on return.
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

// WaitingTexts returns the texts that wait for a run's next session, in order.
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

// maxWaiting bounds the size of a waiting text, in bytes.
const maxWaiting = 2 << 20

// DiscardRefused is the reason for discarding a text that no agent could be started for, or that
// the agent refused.
const DiscardRefused = "refused"

// RefusedTextEvent returns the event that discards a waiting text for which no session could start.
func RefusedTextEvent(source events.Source, run, steer string, why error) (events.Draft, error) {
	return source.Draft(events.Draft{
		RunID: run, SessionRef: LocalRef(run), Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: events.SteerDiscarded,
	}, SteerDiscardedPayload{SteerID: steer, Reason: DiscardRefused, Error: clip.Head(why.Error(), MaxError)})
}

// CompactionEvents returns the events by which a run without a live session begins its next one
// with a digest.
func CompactionEvents(source events.Source, run, actor string) (list []events.Draft, err error) {
	base := events.Draft{RunID: run, SessionRef: LocalRef(run), Actor: actor, Visibility: events.VisibilityTeam, Type: events.CompactRequested}
	asked, err := source.Draft(base, CompactRequestedPayload{CompactDigest})
	base.Actor, base.Visibility, base.Type = events.ActorSystem, events.VisibilityOrg, events.Compacted
	done, doneErr := source.Draft(base, CompactedPayload{How: CompactDigest, OK: true})
	return []events.Draft{asked, done}, errors.Join(err, doneErr)
}
