package governance

// Answering help requests: each answer is appended to the section "## Response".

import (
	"context"
	"strings"

	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/workspace"
	"ac/workspace/doc"
)

// The headings of a help request's sections.
const (
	questionHeading = "## Question"
	responseHeading = "## Response"
)

// HelpText is a help request with its sections as Markdown. Hash is the hash of the whole file.
type HelpText struct {
	Head     doc.HelpRequest
	Question string
	Response string
	Hash     string
	Answered bool // the response is not blank
}

// Help reads a help request. A missing one is fault.NotFound, and so is an id that is no safe id.
func Help(r Reader, id string) (HelpText, error) {
	missing := fault.New(fault.NotFound, "help request %s does not exist", id)
	if !workspace.SafeID(id) { // an id becomes a path
		return HelpText{}, missing
	}
	text, err := r.Read(HelpRequestFile(id))
	if fault.Is(err, fault.NotFound) {
		return HelpText{}, missing
	}
	if err != nil {
		return HelpText{}, err
	}
	return helpText(id, text)
}

func helpText(id string, text []byte) (h HelpText, err error) {
	valid, err := readHelp(HelpRequestFile(id), text)
	if err != nil {
		return h, err
	}
	_, body, err := frontmatter.Split(text)
	if err != nil {
		return h, err
	}
	question, _ := frontmatter.Section(body, questionHeading)
	response, _ := frontmatter.Section(body, responseHeading)
	h = HelpText{
		Head: valid.HelpRequest, Question: strings.TrimSpace(string(question)), Response: strings.TrimSpace(string(response)), Hash: hashOf(text),
	}
	h.Answered = h.Response != ""
	return h, nil
}

// HelpAnswer is an answer to a help request. If ExpectHash is set and differs from the file's
// hash, answering returns fault.Changed.
type HelpAnswer struct {
	ID         string
	Body       string
	ExpectHash string
	Actor      policy.Actor
}

// helpQuestion returns the question to the policy that must precede an answer to a help request.
func helpQuestion(h doc.HelpRequest, actor policy.Actor) policy.Question {
	return policy.Question{
		Action: policy.Approve, Actor: actor,
		Resource: policy.Resource{ID: h.ID, Kind: "help_request", Visibility: h.Visibility, Producer: h.Requester},
	}
}

// AnswerHelp appends an answer to the response of a help request, and returns the changed
// request. The change is durable on return. The rest of the file stays byte for byte.
func AnswerHelp(ctx context.Context, w *workspace.Workspace, a HelpAnswer) (answered HelpText, err error) {
	if strings.TrimSpace(a.Body) == "" {
		return answered, fault.New(fault.Blank, "the answer is blank")
	}
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		h, err := Help(g, a.ID)
		if err != nil {
			return err
		}
		if _, err := g.Enforce(h.Head.ProjectID, helpQuestion(h.Head, a.Actor)); err != nil {
			return err
		}
		if a.ExpectHash != "" && a.ExpectHash != h.Hash {
			return fault.New(fault.Changed, "help request %s changed since it was read; read it again", a.ID)
		}
		text, err := g.Read(HelpRequestFile(a.ID))
		if err != nil {
			return err
		}
		changed, err := withResponse(text, "**"+a.Actor.ID+"**, "+clock.Stamp(w.Env.Clock.Now())+"\n\n"+frontmatter.LowerHeadings(a.Body))
		if err != nil {
			return err
		}
		if answered, err = helpText(a.ID, changed); err != nil {
			return err
		}
		return g.Write(HelpRequestFile(a.ID), changed, 0o644)
	})
	return answered, err
}

// withResponse returns the text of a help request with an answer added.
func withResponse(text []byte, answer string) ([]byte, error) {
	_, body, err := frontmatter.Split(text)
	if err != nil {
		return nil, err
	}
	head := text[:len(text)-len(body)]
	extended, ok := frontmatter.ExtendSection(body, responseHeading, []byte(answer))
	if !ok {
		return nil, fault.New(fault.InvalidFile, "the heading %s is missing", responseHeading)
	}
	return append(append([]byte{}, head...), extended...), nil
}

// MayReadHelp reports whether an actor may read a help request. It records no decision.
func MayReadHelp(w *workspace.Workspace, h doc.HelpRequest, actor policy.Actor) bool {
	q := helpQuestion(h, actor)
	q.Action = policy.Read
	return policy.Ask(w, q).Decision.Allowed
}

// HelpAs reads a help request on behalf of an actor, if the policy allows it. The decision is
// recorded.
func HelpAs(ctx context.Context, w *workspace.Workspace, id string, actor policy.Actor) (HelpText, error) {
	h, err := Help(w, id)
	if err != nil {
		return h, err
	}
	q := helpQuestion(h.Head, actor)
	q.Action = policy.Read
	if _, err := Enforce(ctx, w, h.Head.ProjectID, q); err != nil {
		return HelpText{}, err
	}
	return h, nil
}
