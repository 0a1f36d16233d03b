package supervisor

// Creating a run together with its session.

import (
	"context"
	"encoding/json"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// createRun writes the run and its session's record as one unit.
func (s *supervisor) createRun(ctx context.Context) error {
	made := s.order.New
	record, err := doc.SessionCodec.Encode(s.record)
	if err != nil {
		return err
	}
	err = s.w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := s.w.Project(s.order.ProjectID); err != nil {
			return err
		}
		if k := made.Key; k != nil {
			if first, ok := session.StartedBy(s.w, s.order.ProjectID, k.Key); ok {
				return fault.New(fault.RunExists, "client_message_id %s made run %s", k.Key, first.RunID)
			}
			text, err := json.Marshal(session.StartKey{
				ProjectID: s.order.ProjectID, Key: k.Key, Content: k.Content, RunID: s.order.RunID, Ref: s.order.SessionRef,
				At: clock.Stamp(s.w.Env.Clock.Now()),
			})
			if err != nil {
				return err
			}
			if err := u.Write(session.StartFile(s.order.ProjectID, k.Key), text, 0o600); err != nil {
				return err
			}
		}
		if err := u.Create(workspace.ContextPackDir(s.order.ProjectID, made.ContextPackID), made.Pack); err != nil {
			return err
		}
		if err := u.Create(workspace.RunDir(s.order.ProjectID, s.order.RunID), made.Run); err != nil {
			return err
		}
		if len(s.placed) > 0 {
			u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), s.placed...)
		}
		return u.Write(workspace.SessionFile(s.order.SessionRef), record, 0o600)
	})
	if err == nil {
		s.w.NotifyAppend(workspace.LogFile(s.order.ProjectID, s.order.RunID))
	}
	return err
}
