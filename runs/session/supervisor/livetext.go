package supervisor

import (
	"ac/internal/fault"
	"ac/runs/session"
)

// takeWaiting takes the texts of the log that wait for a session. One is taken once:
// what became of it may not stand in the log yet.
func (c *conversation) takeWaiting() error {
	list, err := session.WaitingTexts(c.s.Workspace, c.s.Order.ProjectID, c.s.Order.RunID)
	for _, text := range list {
		if !c.came[text.ID] {
			c.came[text.ID] = true
			c.remember(text.ClientMessageID, text.Result(), session.PromptResult{Turn: text.Turn})
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
