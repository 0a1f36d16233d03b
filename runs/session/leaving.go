package session

import (
	"errors"
	"os"

	"ac/events"
)

// leaveReason keeps why the end could not be recorded, where there is a record that
// a reader will find without its end: none is left of a workspace that was removed.
// It adds to that error when this cannot be kept either.
func (s *supervisor) leaveReason(cause error) error {
	told, err := Read(s.w, s.order.SessionRef)
	if err != nil || s.socket == nil || told.Socket != s.socket.name {
		return cause // nobody would look for the reason
	}
	file, err := reasonFile(told)
	if err == nil {
		text := s.secrets.String(cause.Error())
		err = os.WriteFile(file, []byte(text[:min(len(text), maxReason)]), 0o600)
	}
	return errors.Join(cause, err)
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

// learnAway has the values of the secrets of an order masked.
func (s *supervisor) learnAway() {
	if s.order.Away == nil {
		return
	}
	environ := environOf(s.order)
	for _, name := range s.order.Away.Secrets {
		s.secrets.Learn(lookup(environ, name))
	}
}
