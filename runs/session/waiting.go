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

// MaxSteers is how many texts of a run may wait.
const MaxSteers = maxSteers

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
		err = fault.New(fault.SteerQueueFull, "%d texts wait already", MaxSteers).With(limitData{MaxSteers})
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
		ID: as.SteerID, Text: clip.Head(p.Text, maxText), TextBytes: len(p.Text), Mode: cmp.Or(p.Mode, ModeNextTurn),
		Delivery: as.Delivery, Turn: as.Turn, QueueLength: as.QueueLength, display: p.display, ClientMessageID: p.ClientMessageID,
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

// takeWaiting takes the texts of the log that wait for a session. One is taken once:
// what became of it may not stand in the log yet.
func (c *conversation) takeWaiting() error {
	list, err := WaitingTexts(c.s.w, c.s.order.ProjectID, c.s.order.RunID)
	for _, text := range list {
		if !c.came[text.ID] {
			c.came[text.ID] = true
			c.remember(text.ClientMessageID, text.Result(), PromptResult{Turn: text.Turn})
			c.waiting = append(c.waiting, &steer{SteerEvent: text.SteerEvent, full: text.Full, actor: text.Actor, before: true})
		}
	}
	return err
}

// more takes texts that came into the log while the session was being started.
func (c *conversation) more(struct{}) (struct{}, error) {
	if err := c.notLive(); err != nil {
		return struct{}{}, err
	}
	if err := c.takeWaiting(); err != nil {
		return struct{}{}, fault.New(fault.IO, "the texts that wait could not be read: %w", err)
	}
	c.next()
	return struct{}{}, nil
}

// maxWaiting bounds a text that waits.
const maxWaiting = 2 << 20

// DiscardRefused is why a text is discarded that no agent can be started for, or takes.
const DiscardRefused = "refused"

// Refused is the event of a text that waited, and for which no session could be started.
func Refused(source events.Source, run, steer string, why error) (events.Draft, error) {
	return source.Draft(events.Draft{
		RunID: run, SessionRef: LocalRef(run), Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: events.SteerDiscarded,
	}, discardedPayload{SteerID: steer, Reason: DiscardRefused, Error: clip.Head(why.Error(), maxError)})
}

// refusedTexts discards the texts that wait for turns of their own, since the session that
// was to say them never began: else they would come along with a later one, unasked.
func (s *supervisor) refusedTexts(why string) (drafts []events.Draft, err error) {
	waiting, err := WaitingTexts(s.w, s.order.ProjectID, s.order.RunID)
	for _, text := range waiting {
		if text.Mode != ModeAfterTurn {
			continue
		}
		d, draftErr := Refused(s.w.Events, s.order.RunID, text.ID, errors.New(why))
		drafts, err = append(drafts, d), errors.Join(err, draftErr)
	}
	return drafts, err
}
