package acecode

// Sending a text to a session: it becomes a turn of its own, whatever state the session is in.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/clip"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

// Limits of texts.
const (
	maxText        = 1 << 20 // bytes, including its contexts
	maxContexts    = 32
	maxAttachments = 16
	maxClientID    = 200 // bytes
)

// saidBody is a text with its contexts and attachments.
type saidBody struct {
	Text         string            `json:"text"`
	Client       *string           `json:"client_message_id"`
	Contexts     []contextBody     `json:"contexts"`
	Attachments  []json.RawMessage `json:"attachments"`
	ExpectedTurn *string           `json:"expected_turn_id"`

	display string // shown instead of the text; "" shows the text
}

// contextBody is a piece of text that accompanies a text.
type contextBody struct {
	Type   string      `json:"type"`
	Label  string      `json:"label,omitempty"`
	Note   string      `json:"note,omitempty"`
	Text   string      `json:"text,omitempty"`
	Source *sourceBody `json:"source,omitempty"`
}

// sourceBody is the origin of a selection. The server does not open it.
type sourceBody struct {
	Path  string `json:"path,omitempty"`
	Start int    `json:"start_line,omitempty"`
	End   int    `json:"end_line,omitempty"`
	Count int    `json:"line_count,omitempty"`
}

func tooLarge() error {
	return &refusal{http.StatusRequestEntityTooLarge, errorBody{Error: "text_too_large", Limit: maxText}}
}

// queuedAnswer reports that a text is queued for a turn.
type queuedAnswer struct {
	Queued bool   `json:"queued"`
	Client string `json:"client_message_id,omitempty"`
}

func postMessage(s *server, r *request) (any, error) {
	row, p, err := s.saidIn(r)
	if err != nil {
		return nil, err
	}
	if err := s.say(r.Context(), row, p); err != nil {
		return nil, err
	}
	return status{http.StatusAccepted, queuedAnswer{true, p.client()}}, nil
}

// saidIn reads a text that is sent to a session.
func (s *server) saidIn(r *request) (row workforce.RunWithLog, p saidBody, err error) {
	if row, err = s.conversation(r.Context(), r.PathValue("id")); err == nil {
		err = r.decodeUpTo(4*maxText, &p)
	}
	if refused, ok := errors.AsType[*refusal](err); ok && refused.status == http.StatusRequestEntityTooLarge {
		err = tooLarge() // report the limit of the text, not of its encoding
	}
	return row, p, err
}

func (p *saidBody) client() string {
	if p.Client == nil {
		return ""
	}
	return *p.Client
}

// say sends a text to a session, as its own turn. The text is durable on return.
func (s *server) say(ctx context.Context, row workforce.RunWithLog, p saidBody) error {
	steer, err := s.steer(ctx, row, p)
	if err != nil {
		return err
	}
	steer.Mode, steer.Start = session.ModeAfterTurn, s.start(row)
	_, err = dialect.Do(ctx, s.Company, orchestration.Operations.Steer, steer)
	if fault.Is(err, fault.SteerQueueFull) {
		err = refuse(http.StatusTooManyRequests, "TURN_QUEUE_FULL")
	}
	if err == nil {
		s.state.wake(row.ID)
	}
	return err
}

// start returns how to start a session for a text. It keeps what the run already has.
func (s *server) start(row workforce.RunWithLog) *orchestration.StartParams {
	p := &orchestration.StartParams{RepoID: s.repo}
	if s.repo != "" {
		p.Isolation = cmp.Or(s.opts.Isolation, doc.IsolationNone)
	}
	if model := s.modelOf(&row); model.profile != "" {
		p.ModelProfile = model.profile
	} else {
		p.Model = model.model
	}
	if !isCommand(row) {
		p.Ask(true)
		p.Change("", "", "", true, 0)
	}
	if row.Spec == nil && row.Live == nil && !isCommand(row) {
		p.Level = s.level()
	}
	return p
}

// steer returns a text for a session, with its contexts and attachments.
func (s *server) steer(ctx context.Context, row workforce.RunWithLog, p saidBody) (orchestration.SteerParams, error) {
	var steer orchestration.SteerParams
	s.act(&steer, row.ID)
	switch {
	case strings.TrimSpace(p.Text) == "" && len(p.Attachments) == 0:
		return steer, refuse(http.StatusBadRequest, "text or attachments required")
	case len(p.Contexts) > maxContexts:
		return steer, bad(fmt.Sprintf("contexts must not be more than %d", maxContexts))
	case len(p.Attachments) > maxAttachments:
		return steer, bad(fmt.Sprintf("attachments must not be more than %d", maxAttachments))
	case p.Client != nil && (*p.Client == "" || len(*p.Client) > maxClientID):
		return steer, bad(fmt.Sprintf("client_message_id must have 1 to %d bytes", maxClientID))
	}
	files, err := s.filesOf(ctx, row.ID, p.Attachments)
	if err != nil {
		return steer, err
	}
	steer.Text = p.Text + contextText(p.Contexts) + fileText(files)
	if len(steer.Text) > maxText {
		return steer, tooLarge()
	}
	steer.ClientMessageID, steer.DisplayText = p.client(), p.display
	if steer.DisplayText == "" && steer.Text != p.Text {
		steer.DisplayText = clip.Head(p.Text, maxDisplay)
		if strings.TrimSpace(p.Text) == "" {
			steer.DisplayText = fileNames(files)
		}
	}
	if len(p.Contexts)+len(files) > 0 {
		steer.Meta, err = metaOf(p.Contexts, files)
	}
	return steer, err
}

// Limits of what is stored with a text, in bytes.
const (
	maxDisplay = 64 << 10
	maxMeta    = 15 << 10
)

// metaOf returns what is stored beside a text: its contexts and attachments without their contents.
// It shortens labels if the result is too long.
func metaOf(contexts []contextBody, files []attachedFile) (json.RawMessage, error) {
	for _, most := range []int{4 << 10, 200, 0} {
		kept := make([]contextBody, len(contexts))
		for i, c := range contexts {
			kept[i] = contextBody{Type: clip.Head(c.Type, 40), Label: clip.Head(c.Label, most), Note: clip.Head(c.Note, most)}
			if c.Source != nil {
				kept[i].Source = &sourceBody{clip.Head(c.Source.Path, most), c.Source.Start, c.Source.End, c.Source.Count}
			}
		}
		text, err := json.Marshal(struct {
			Contexts    []contextBody  `json:"contexts"`
			Attachments []attachedFile `json:"attachments"`
		}{kept, files})
		if err != nil {
			return nil, err
		}
		if len(text) <= maxMeta || most == 0 {
			return text, nil
		}
	}
	return nil, nil
}

// contextText returns the contexts as text for the agent, to be appended to the text.
func contextText(contexts []contextBody) string {
	escape := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")
	var b strings.Builder
	for _, c := range contexts {
		fmt.Fprintf(&b, "\n\n<context type=\"%s\"", escape.Replace(cmp.Or(c.Type, "text")))
		if c.Label != "" {
			fmt.Fprintf(&b, ` label="%s"`, escape.Replace(c.Label))
		}
		if c.Type == "selection" && c.Source != nil {
			if c.Source.Path != "" {
				fmt.Fprintf(&b, ` path="%s"`, escape.Replace(c.Source.Path))
			}
			if c.Source.Start > 0 {
				fmt.Fprintf(&b, ` lines="%d-%d"`, c.Source.Start, max(c.Source.Start, c.Source.End))
			}
		}
		b.WriteString(">\n" + strings.ReplaceAll(c.Text, "</context", "< /context") + "\n</context>")
	}
	return b.String()
}

// turnAnswer is the response to a text for the running turn.
type turnAnswer struct {
	Accepted     bool   `json:"accepted"`
	Interrupting bool   `json:"interrupting,omitempty"`
	TurnID       string `json:"turn_id"`
	Client       string `json:"client_message_id,omitempty"`
}

func steerTurn(s *server, r *request) (any, error) { return s.intoTurn(r, session.ModeNextTurn) }

func interruptTurn(s *server, r *request) (any, error) { return s.intoTurn(r, session.ModeInterrupt) }

// intoTurn sends a text to the running turn.
func (s *server) intoTurn(r *request, mode string) (any, error) {
	row, p, err := s.saidIn(r)
	if err != nil {
		return nil, err
	}
	if p.ExpectedTurn == nil || *p.ExpectedTurn == "" {
		return nil, refuse(http.StatusBadRequest, "EXPECTED_TURN_ID_REQUIRED")
	}
	running := 0
	err = s.withHistory(r.Context(), row.ID, func(h *history) error {
		running = h.mapper.Turn
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case running == 0 || !row.Alive:
		return nil, refuse(http.StatusConflict, "NO_ACTIVE_TURN")
	case frames.TurnID(running) != *p.ExpectedTurn:
		return nil, &refusal{http.StatusConflict, errorBody{Error: "TURN_MISMATCH", ActiveID: frames.TurnID(running)}}
	case isCommand(row):
		return nil, refuse(http.StatusConflict, "TURN_NOT_STEERABLE")
	}
	steer, err := s.steer(r.Context(), row, p)
	if err != nil {
		return nil, err
	}
	if len(steer.Text) > maxSteer {
		return nil, &refusal{http.StatusRequestEntityTooLarge, errorBody{Error: "text_too_large", Limit: maxSteer}}
	}
	steer.Mode, steer.ExpectedTurn = mode, running
	if _, err := dialect.Do(r.Context(), s.Company, orchestration.Operations.Steer, steer); err != nil {
		return nil, turnRefusal(err, running)
	}
	s.state.wake(row.ID)
	return status{http.StatusAccepted, turnAnswer{true, mode == session.ModeInterrupt, frames.TurnID(running), p.client()}}, nil
}

// maxSteer bounds a text for a running turn, in bytes.
const maxSteer = 64 << 10

// turnRefusal converts an error about a text for a running turn into the protocol's.
func turnRefusal(err error, running int) error {
	switch {
	case fault.Is(err, fault.NoActiveTurn), fault.Is(err, fault.RunNotLive):
		return refuse(http.StatusConflict, "NO_ACTIVE_TURN")
	case fault.Is(err, fault.RunNotSteerable):
		return refuse(http.StatusConflict, "TURN_NOT_STEERABLE")
	case fault.Is(err, fault.TurnMismatch):
		return &refusal{http.StatusConflict, errorBody{Error: "TURN_MISMATCH", ActiveID: frames.TurnID(running)}}
	case fault.Is(err, fault.SteerQueueFull):
		return refuse(http.StatusTooManyRequests, "TURN_QUEUE_FULL")
	}
	return err
}
