package decisions

// help.*: reading and answering help requests.

import (
	"context"
	"strings"

	"ac/company"
	"ac/conversation"
	"ac/governance"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// HelpParams are the params of help.get.
type HelpParams struct {
	company.Dir
	HelpRequestID string `json:"help_request_id" is:"id"`
	company.FilesActor
}

// HelpResult is the result of help.get. Question and Response are Markdown.
type HelpResult struct {
	Frontmatter doc.HelpRequest `json:"frontmatter"`
	Question    string          `json:"question"`
	Response    string          `json:"response"`
	Hash        string          `json:"hash"`
	Answered    bool            `json:"answered"`
}

func helpResult(h governance.HelpText) *HelpResult {
	return &HelpResult{Frontmatter: h.Head, Question: h.Question, Response: h.Response, Hash: h.Hash, Answered: h.Answered}
}

// Help reads a help request, if the actor may see it.
func (c Operations) Help(ctx context.Context, p HelpParams) (HelpResult, error) {
	h, err := governance.HelpAs(ctx, c.Workspace(), p.HelpRequestID, p.Actor())
	return *helpResult(h), err
}

// AnswerHelpParams are the params of help.answer.
type AnswerHelpParams struct {
	HelpParams
	Body       string `json:"body" is:"maxbytes=65536"`
	ExpectHash string `json:"expect_hash,omitempty" is:"optional"`
	Tell       string `json:"tell,omitempty" is:"optional,enum=dm|none"`
}

// CheckFields rejects a blank answer.
func (p *AnswerHelpParams) CheckFields() []fault.Issue {
	if strings.TrimSpace(p.Body) == "" {
		return []fault.Issue{{Path: []any{"body"}, Code: "custom", Message: "must not be blank"}}
	}
	return nil
}

// AnswerHelpResult is the result of help.answer.
type AnswerHelpResult struct {
	Hash string `json:"hash"`
	// MessageID is the direct message that sends the answer to the requester, "" for none.
	MessageID string `json:"message_id,omitempty"`
}

// AnswerHelp answers a help request. By default, it also sends the answer to the agent that
// asked, as a direct message. The answer stays even if the message cannot be sent.
func (c Operations) AnswerHelp(ctx context.Context, p AnswerHelpParams) (result AnswerHelpResult, err error) {
	h, err := governance.AnswerHelp(ctx, c.Workspace(), governance.HelpAnswer{
		ID: p.HelpRequestID, Body: p.Body, ExpectHash: p.ExpectHash, Actor: p.Actor(),
	})
	if err != nil {
		return result, err
	}
	result.Hash = h.Hash
	asker := h.Head.Requester
	if p.Tell == "none" || asker == p.ActorID || !workspace.SafeID(asker) {
		return result, nil
	}
	if _, err := c.Workspace().Agent(asker); err != nil {
		return result, nil //nolint:nilerr // the requester is no agent
	}
	space := conversation.Space{Project: h.Head.ProjectID}
	dm, err := conversation.CreateDM(ctx, c.Workspace(), space, p.ActorID, asker, "private_agent")
	if err != nil {
		return result, nil //nolint:nilerr // the answer stands in the request
	}
	_, message, err := conversation.Send(ctx, c.Workspace(), space, dm.ID, conversation.Draft{
		AuthorID: p.ActorID, AuthorRole: p.ActorRole, Kind: "text", Body: "About your question \"" + h.Head.Title + "\":\n\n" + p.Body,
	})
	if err == nil {
		result.MessageID = message.ID
	}
	return result, nil
}
