package equipment

// terminal.*: consoles of this process. A console runs what a person types, and no policy
// applies. Consoles are therefore off unless the process was started with them. Only people and
// managers may use them, and their use is audited.

import (
	"context"
	"encoding/base64"
	"time"

	"ac/company"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/terminal"
)

// TerminalList is the result of terminal.list.
type TerminalList struct {
	Available bool            `json:"available"`
	Backend   string          `json:"backend"`
	Limit     int             `json:"limit"`
	Terminals []terminal.Info `json:"terminals"`
}

// ListTerminals lists this process's terminals in the workspace, oldest first.
func (c Operations) ListTerminals(context.Context, company.Dir) (TerminalList, error) {
	list := TerminalList{Limit: terminal.Limit, Terminals: []terminal.Info{}}
	if hub := c.Host().Terminals(); hub != nil {
		list.Available, list.Backend, list.Terminals = true, "posix", hub.List(c.Path())
	}
	return list, nil
}

// consoles returns the terminals of the process, or fault.TerminalDisabled if it may have none.
func (c Operations) consoles() (*terminal.Hub, error) {
	if c.Host().Terminals() == nil {
		return nil, fault.New(fault.TerminalDisabled, "this process was started without terminals")
	}
	return c.Host().Terminals(), nil
}

// OneTerminal identifies a terminal and the actor who uses it.
type OneTerminal struct {
	company.Dir
	company.PersonParams
	TerminalID string `json:"terminal_id"`
}

// console returns a terminal of the workspace to an actor who may use consoles. Other actors may
// not even read it.
func (c Operations) console(p OneTerminal) (*terminal.Terminal, error) {
	hub, err := c.consoles()
	if err != nil {
		return nil, err
	}
	if _, err := c.mayType(p.Actor()); err != nil {
		return nil, err
	}
	return hub.Find(c.Path(), p.TerminalID)
}

// CreateTerminalParams are the params of terminal.create.
type CreateTerminalParams struct {
	company.Dir
	company.PersonParams
	CWD   string            `json:"cwd" is:"optional"`
	Shell string            `json:"shell" is:"optional"`
	Title string            `json:"title" is:"optional,empty"`
	Cols  int               `json:"cols" is:"default=80,min=2,max=1000"`
	Rows  int               `json:"rows" is:"default=24,min=2,max=1000"`
	Env   map[string]string `json:"env" is:"optional,empty"`
	Via   string            `json:"-"` // stdio, web or acecode
}

// CheckFields rejects invalid environment variables.
func (p *CreateTerminalParams) CheckFields() []fault.Issue { return checkConsoleEnv(p.Env) }

// CreateTerminal starts a shell in a new terminal.
func (c Operations) CreateTerminal(_ context.Context, p CreateTerminalParams) (info terminal.Info, err error) {
	hub, err := c.consoles()
	if err != nil {
		return info, err
	}
	actor, err := c.mayType(p.Actor())
	if err != nil {
		return info, err
	}
	cwd, err := c.consoleDir(p.CWD)
	if err != nil {
		return info, err
	}
	shell, err := c.consoleShell(p.Shell)
	if err != nil {
		return info, err
	}
	info, err = hub.Create(terminal.Spec{
		Dir: c.Path(), Title: p.Title, Shell: shell, CWD: cwd, Env: consoleEnviron(c.Host().Launcher().Environ, p.Env, cwd), Cols: p.Cols, Rows: p.Rows,
		CreatedAt: clock.Stamp(c.Host().Now()), CreatedBy: actor.ID,
	})
	if err != nil {
		return info, err
	}
	via := p.Via
	if via == "" {
		via = "stdio"
	}
	return info, c.auditConsole("opened", actor.ID, via, info)
}

// mayType returns the effective actor, or fault.ActorNotAllowed. Only people, managers, directors
// and CEOs may use consoles. An actor other than company.Person must be recorded in that role.
func (c Operations) mayType(actor policy.Actor) (policy.Actor, error) {
	effective, err := policy.Effective(c.Workspace(), actor)
	if err != nil {
		return effective, err
	}
	may := runs.MayRaise(effective.Role)
	if may && effective.Role != "human" && actor.ID != company.Person {
		recorded, err := c.Workspace().Agent(actor.ID)
		may = err == nil && recorded.Role == effective.Role
	}
	if !may {
		return effective, fault.New(fault.ActorNotAllowed, "%s may not use terminals: they are for people and managers", actor.ID)
	}
	return effective, nil
}

// auditConsole records an action on a terminal in the audit log. The record is durable on return.
func (c Operations) auditConsole(action, actorID, via string, i terminal.Info) error {
	return company.AuditConsole(c.Workspace(), c.Host().Now(), action, actorID, via, i)
}

// AttachTerminalParams are the params of terminal.attach.
type AttachTerminalParams struct {
	OneTerminal

	Cursor int64 `json:"cursor" is:"optional"`
}

// AttachTerminalResult is the result of terminal.attach.
type AttachTerminalResult struct {
	SubscriptionID string        `json:"subscription_id"`
	Terminal       terminal.Info `json:"terminal"`
	Cursor         int64         `json:"cursor"`
	Truncated      bool          `json:"truncated"`
}

// TerminalOutput is a terminal.output notification.
type TerminalOutput struct {
	SubscriptionID string `json:"subscription_id"`
	TerminalID     string `json:"terminal_id"`
	Cursor         int64  `json:"cursor"`
	Data           []byte `json:"data_base64"`
}

// TerminalExit is a terminal.exited notification.
type TerminalExit struct {
	SubscriptionID string `json:"subscription_id"`
	TerminalID     string `json:"terminal_id"`
	ExitCode       int    `json:"exit_code"`
	Signal         string `json:"signal,omitempty"`
}

// TerminalWatch is a viewer of a terminal and the start of its output. The caller must detach it.
type TerminalWatch struct {
	*terminal.Viewer
	Begin AttachTerminalResult
}

// WatchTerminal attaches a viewer to a terminal, for listeners of this process.
func (c Operations) WatchTerminal(_ context.Context, p AttachTerminalParams) (w TerminalWatch, err error) {
	t, err := c.console(p.OneTerminal)
	if err != nil {
		return w, err
	}
	w.Viewer, w.Begin.Terminal, w.Begin.Cursor, w.Begin.Truncated, err = t.Attach(p.Cursor)
	return w, err
}

// AttachTerminal streams the output of a terminal: first the buffered output after the cursor,
// then new output. The notifications follow the reply.
func (c Operations) AttachTerminal(ctx context.Context, p AttachTerminalParams) (AttachTerminalResult, error) {
	v, err := c.WatchTerminal(ctx, p)
	result := v.Begin
	if err != nil {
		return result, err
	}
	if c.Host().Hub() == nil {
		v.Detach()
		return result, fault.New(fault.Unsupported, "this process has no subscriptions")
	}
	answer, start, err := c.Host().Hub().SubscribeSender("", func(ctx context.Context, id string, notify func(context.Context, string, any) error) error {
		defer v.Detach()
		return follow(ctx, v.Viewer, id, notify)
	})
	if err != nil {
		v.Detach()
		return result, err
	}
	result.SubscriptionID = answer.ID
	inflight.After(ctx, start)
	return result, nil
}

// follow sends a viewer's output until the shell has ended and all output is sent.
func follow(ctx context.Context, v *terminal.Viewer, id string, notify func(context.Context, string, any) error) error {
	for {
		p, err := v.Next(ctx)
		if err != nil {
			return err
		}
		if len(p.Bytes) > 0 {
			if err := notify(ctx, "terminal.output", TerminalOutput{id, p.Info.ID, p.Cursor, p.Bytes}); err != nil {
				return err
			}
		}
		if p.Over && p.Info.ExitCode != nil {
			return notify(ctx, "terminal.exited", TerminalExit{id, p.Info.ID, *p.Info.ExitCode, p.Info.Signal})
		}
		if p.Closed {
			return nil
		}
	}
}

// DetachResult is the result of terminal.detach.
type DetachResult struct {
	Detached bool `json:"detached"`
}

// DetachTerminalParams are the params of terminal.detach.
type DetachTerminalParams struct {
	company.Dir
	SubscriptionID string `json:"subscription_id"`
}

// OfSubscription returns the subscription that a request names.
func (p DetachTerminalParams) OfSubscription() string { return p.SubscriptionID }

// DetachTerminal ends a subscription to a terminal.
func (c Operations) DetachTerminal(_ context.Context, p DetachTerminalParams) (DetachResult, error) {
	if c.Host().Hub() == nil {
		return DetachResult{}, nil
	}
	return DetachResult{c.Host().Hub().Unsubscribe(p.SubscriptionID)}, nil
}

// ReadTerminalParams are the params of terminal.read.
type ReadTerminalParams struct {
	OneTerminal

	Cursor int64 `json:"cursor" is:"optional,min=0"`
	Limit  int   `json:"limit" is:"default=65536,min=1,cut=1048576"`
	WaitMS int64 `json:"wait_ms" is:"optional,min=0,max=20000"`
}

// ReadTerminalResult is the result of terminal.read.
type ReadTerminalResult struct {
	Cursor    int64  `json:"cursor"`
	Next      int64  `json:"next_cursor"`
	Truncated bool   `json:"truncated"`
	Data      []byte `json:"data_base64"`
	Status    string `json:"status"`
	ExitCode  *int   `json:"exit_code,omitempty"`
}

// ReadTerminal returns the output of a terminal after a cursor. If there is none, it waits up to
// WaitMS.
func (c Operations) ReadTerminal(ctx context.Context, p ReadTerminalParams) (result ReadTerminalResult, err error) {
	t, err := c.console(p.OneTerminal)
	if err != nil {
		return result, err
	}
	waiting, done, err := inflight.Wait(ctx)
	if err != nil {
		return result, err
	}
	defer done()
	piece, truncated, err := t.Read(waiting, p.Cursor, p.Limit, time.Duration(p.WaitMS)*time.Millisecond)
	data := piece.Bytes
	if data == nil {
		data = []byte{}
	}
	return ReadTerminalResult{piece.Cursor, piece.Next, truncated, data, piece.Info.Status, piece.Info.ExitCode}, err
}

// maxTyped bounds the input of one terminal.write, in bytes.
const maxTyped = 1 << 20

// WriteTerminalParams are the params of terminal.write. Exactly one of Data and Text is set.
type WriteTerminalParams struct {
	OneTerminal

	Data  *string `json:"data_base64" is:"optional,empty"`
	Text  *string `json:"text" is:"optional,empty"`
	typed []byte
}

// CheckFields decodes the input and bounds its size.
func (p *WriteTerminalParams) CheckFields() []fault.Issue {
	refuse := func(field, message string) []fault.Issue {
		return []fault.Issue{{Path: []any{field}, Code: "custom", Message: message}}
	}
	switch {
	case (p.Data == nil) == (p.Text == nil):
		return refuse("text", "exactly one of text and data_base64 is needed")
	case p.Text != nil:
		p.typed = []byte(*p.Text)
	default:
		typed, err := base64.StdEncoding.DecodeString(*p.Data)
		if err != nil {
			return refuse("data_base64", "must be base64")
		}
		p.typed = typed
	}
	if len(p.typed) > maxTyped {
		return refuse("text", "must be at most 1 MiB")
	}
	return nil
}

// WriteTerminalResult is the result of terminal.write.
type WriteTerminalResult struct {
	Written int `json:"written"`
}

// WriteTerminal types into a terminal, and returns once the kernel has accepted the input. A
// program that does not read does not block other requests.
func (c Operations) WriteTerminal(ctx context.Context, p WriteTerminalParams) (WriteTerminalResult, error) {
	t, err := c.console(p.OneTerminal)
	if err != nil {
		return WriteTerminalResult{}, err
	}
	n, err := t.Write(ctx, p.typed, func() { inflight.Leave(ctx) })
	return WriteTerminalResult{n}, err
}

// ResizeTerminalParams are the params of terminal.resize.
type ResizeTerminalParams struct {
	OneTerminal

	Cols int `json:"cols" is:"min=2,max=1000"`
	Rows int `json:"rows" is:"min=2,max=1000"`
}

// Nothing is an empty result.
type Nothing struct{}

// ResizeTerminal changes the size of a terminal.
func (c Operations) ResizeTerminal(_ context.Context, p ResizeTerminalParams) (Nothing, error) {
	t, err := c.console(p.OneTerminal)
	if err != nil {
		return Nothing{}, err
	}
	return Nothing{}, t.Resize(p.Cols, p.Rows)
}

// RenameTerminalParams are the params of terminal.rename.
type RenameTerminalParams struct {
	OneTerminal

	Title string `json:"title" is:"empty"`
}

// RenameTerminal changes the title of a terminal.
func (c Operations) RenameTerminal(_ context.Context, p RenameTerminalParams) (terminal.Info, error) {
	t, err := c.console(p.OneTerminal)
	if err != nil {
		return terminal.Info{}, err
	}
	return t.Rename(p.Title), nil
}

// CloseTerminalParams are the params of terminal.close.
type CloseTerminalParams struct {
	OneTerminal

	Via string `json:"-"`
}

// CloseTerminalResult is the result of terminal.close.
type CloseTerminalResult struct {
	Closed   bool `json:"closed"`
	ExitCode *int `json:"exit_code,omitempty"`
}

// CloseTerminal ends a terminal with all processes that it started, and removes it.
func (c Operations) CloseTerminal(_ context.Context, p CloseTerminalParams) (CloseTerminalResult, error) {
	hub, err := c.consoles()
	if err != nil {
		return CloseTerminalResult{}, err
	}
	actor, err := c.mayType(p.Actor())
	if err != nil {
		return CloseTerminalResult{}, err
	}
	info, err := hub.CloseTerminal(c.Path(), p.TerminalID)
	if err != nil {
		return CloseTerminalResult{}, err
	}
	via := p.Via
	if via == "" {
		via = "stdio"
	}
	return CloseTerminalResult{true, info.ExitCode}, c.auditConsole("closed", actor.ID, via, info)
}
