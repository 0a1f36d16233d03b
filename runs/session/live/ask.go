package live

// Interactions: requests of the agent that wait for an answer. The run's policy judges first.
// What it leaves to people waits for an answer, a timeout or the end, whichever comes first. Each
// has exactly one resolution, which is durable before it is sent to the agent.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/clock"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/runs/policy"
	"ac/runs/session"
	"ac/workspace/doc"
)

// openRequest is an unresolved request: its record, and the data that the driver and the policy
// need.
type openRequest struct {
	interaction.Record
	request  agent.Request
	accesses []policy.Access
	rule     string // the rule that requires asking, "" for none
	// resolved receives the answer if one of ac's tools asked; nil if the agent did.
	resolved func(interaction.Record)
}

// judgedPayload is the payload of permission.judged.
type judgedPayload struct {
	RequestID string `json:"request_id"`
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
	Effect    string `json:"effect"`
	By        string `json:"by"`
	RuleID    string `json:"rule_id,omitempty"`
	Mode      string `json:"mode"`
	Tool      string `json:"tool"`
	Title     string `json:"title"`
	ItemID    string `json:"item_id,omitempty"`
}

type undeliveredPayload struct {
	ID    string `json:"interaction_id"`
	Error string `json:"error"`
}

// errGone means that there is no agent to send an answer to.
var errGone = errors.New("the agent is gone")

// situation returns what a judgment depends on besides the policy.
func (c *Conversation) situation() policy.Situation {
	return policy.Situation{Interactive: c.order.Interactive, OwnTools: c.order.MCP}
}

// accesses returns what a request wants, in the form that rules match.
func (c *Conversation) accesses(q agent.Request) (list []policy.Access) {
	for _, want := range q.Accesses {
		switch op := doc.Operation(want.Operation); op {
		case doc.OpRead, doc.OpWrite:
			list = append(list, c.root.Accesses(op, want.Resource)...)
		case doc.OpExec:
			list = append(list, policy.Command(want.Resource))
		default:
			list = append(list, policy.Access{Operation: op, Resource: want.Resource})
		}
	}
	return list
}

// Asked judges a request of the agent, and forwards it to people if the policy says so.
func (c *Conversation) Asked(q agent.Request) {
	i := &openRequest{request: q, accesses: c.accesses(q)}
	if c.closing {
		_ = c.driver.Answer(q.Key, agent.Answer{State: agent.Cancelled, Stopping: true}) // the session is ending
		return
	}
	if q.Kind == agent.Question || q.Kind == agent.Input {
		if !c.order.Interactive || c.refusesExcess(q) {
			_ = c.reply(i, agent.Answer{State: agent.Cancelled}) // reply fails the session itself
			return
		}
		c.ask(i)
		return
	}
	v := c.judge(i)
	if v.Effect == doc.Ask && c.refusesExcess(q) {
		v.Effect = doc.Deny
	}
	judged := c.judged(i, v)
	switch {
	case v.Effect == doc.Ask:
		i.rule = v.RuleID
		c.queueEvent(judged)
		c.ask(i)
	case c.s.Recorder.Commit(judged) != nil:
		// The recorder stops the session.
	case v.Effect == doc.Allow:
		_ = c.reply(i, agent.Answer{State: agent.Allowed}) // reply fails the session itself
		c.endPlanMode(i, "system")
	default:
		denial := agent.Answer{State: agent.Denied, Text: "Denied by the policy of this run (" + string(v.By) + ")."}
		_ = c.reply(i, denial) // reply fails the session itself
	}
}

// refusesExcess reports whether too many requests are open to accept another, and records a notice if so.
func (c *Conversation) refusesExcess(q agent.Request) bool {
	if len(c.open) < interaction.MaxOpen {
		return false
	}
	c.Notice(fmt.Sprintf("%d requests of the agent wait for an answer already: this one is refused: %s", interaction.MaxOpen, c.title(q)))
	return true
}

func (c *Conversation) judge(i *openRequest) policy.Verdict {
	if i.request.Kind == agent.Plan {
		return policy.JudgePlan(c.policy, c.situation())
	}
	return policy.Judge(c.policy, c.situation(), i.accesses...)
}

func (c *Conversation) judged(i *openRequest, v policy.Verdict) events.Draft {
	access := v.Access
	if access.Operation == "" && len(i.accesses) > 0 {
		access = i.accesses[0]
	}
	operation := string(access.Operation)
	if i.request.Kind == agent.Plan {
		operation = agent.Plan
	}
	return c.draft(events.PermissionJudged, judgedPayload{
		RequestID: i.request.Key, Operation: operation, Resource: clip.Head(c.masked(access.Resource), interaction.MaxResource), Effect: string(v.Effect),
		By: string(v.By), RuleID: v.RuleID, Mode: string(c.policy.Mode), Tool: i.request.Tool, Title: c.title(i.request), ItemID: i.request.Item,
	})
}

// title returns a one-line description for people.
func (c *Conversation) title(q agent.Request) string {
	return cmp.Or(strings.Join(strings.Fields(c.masked(q.Title)), " "), q.Tool, q.Kind)
}

// ask forwards a request to people.
func (c *Conversation) ask(i *openRequest) {
	q := i.request
	now, limit := c.s.Workspace.Env.Clock.Now(), time.Duration(c.order.PermissionMS)*time.Millisecond
	r := interaction.Request{
		InteractionID: c.s.Workspace.Env.IDs.New("int"), Kind: q.Kind, Turn: c.turns, Workflow: c.order.Workflow, Title: c.title(q), Prompt: c.masked(q.Prompt), Tool: q.Tool,
		ArgsPreview: c.masked(string(q.Args)), Diff: c.masked(q.Diff), ItemID: q.Item, RequestedAt: clock.Stamp(now), OnTimeout: interaction.DenyOnTimeout,
	}
	switch q.Kind {
	case agent.Permission, agent.Plan:
		r.Options = interaction.DecisionOptions(q.Kind == agent.Permission && policy.OffersSession(c.policy, i.accesses...), q.Always)
		c.describe(&r, i)
	case agent.Question:
		limit, r.OnTimeout = time.Duration(c.order.QuestionMS)*time.Millisecond, interaction.CancelOnTimeout
		r.Questions = c.questions(q)
		r.Options = interaction.ChoiceOptions(r.Questions)
	default:
		limit, r.OnTimeout = 0, interaction.CancelOnTimeout
	}
	if limit > 0 {
		r.ExpiresAt = new(clock.Stamp(now.Add(limit)))
		c.startTimer(r.InteractionID, limit, func() { c.expire(i) })
	}
	i.Request, i.State = r.Bounded(), interaction.Open
	d := c.draft(events.InteractionRequested, i.Request)
	d.Actor, d.Visibility = c.s.Order.AgentID, events.VisibilityTeam
	c.queueEvent(d)
	c.open = append(c.open, i)
}

// describe adds to a request which access it is for.
func (c *Conversation) describe(r *interaction.Request, i *openRequest) {
	if len(i.accesses) == 0 {
		return
	}
	access := c.judge(i).Access
	if access.Operation == "" {
		access = i.accesses[0]
	}
	r.Operation, r.Resource = string(access.Operation), c.masked(access.Resource)
	if c.policy.PermissionLevel == doc.LevelReadOnly && access.Operation == doc.OpExec {
		r.Prompt = strings.TrimSpace(r.Prompt + "\nIt runs outside of the sandbox.")
	}
}

func (c *Conversation) questions(q agent.Request) (list []interaction.QuestionPart) {
	for _, one := range q.Questions {
		shown := interaction.QuestionPart{
			QuestionID: one.ID, Header: c.masked(one.Header), Question: c.masked(one.Question), Multi: one.Multi, FreeText: one.Free, Secret: one.Secret,
			Options: []interaction.Choice{},
		}
		for _, o := range one.Choices {
			shown.Options = append(shown.Options, interaction.Choice{Label: c.masked(o.Label), Description: c.masked(o.Description)})
		}
		list = append(list, shown)
	}
	return list
}

// reply sends an answer to the agent, or to the tool that asked. The error is nil if it was
// accepted.
func (c *Conversation) reply(i *openRequest, a agent.Answer) error {
	if i.resolved != nil {
		i.answerTool(a)
		c.startIdleTimer()
		return nil
	}
	if c.driver == nil {
		return errGone
	}
	err := c.driver.Answer(i.request.Key, a)
	if err != nil {
		c.handleSendError(err)
	}
	return err
}

// resolve removes an interaction from the open ones. The caller must make the returned event
// durable before it answers the agent.
func (c *Conversation) resolve(i *openRequest, state string, o interaction.Outcome) events.Draft {
	o.By = cmp.Or(o.By, events.ActorSystem)
	d := c.draft(events.InteractionResolved, interaction.Resolution{InteractionID: i.InteractionID, Kind: i.Kind, State: state, Outcome: o})
	d.Actor, d.Visibility = o.By, events.VisibilityTeam
	c.cancelTimer(i.InteractionID)
	c.open = slices.DeleteFunc(c.open, func(other *openRequest) bool { return other == i })
	i.State, i.ResolvedAt, i.Outcome = state, clock.Stamp(d.At), o
	if len(c.closed) >= maxClosed {
		clear(c.closed)
	}
	c.closed[i.InteractionID] = i.Record
	return d
}

// maxClosed bounds the resolutions kept in memory. The log has all of them.
const maxClosed = 256

// expire resolves an interaction that nobody answered in time.
func (c *Conversation) expire(i *openRequest) {
	if c.s.Recorder.Commit(c.resolve(i, interaction.TimedOut, interaction.Outcome{Reason: interaction.Timeout})) != nil {
		return // the recorder stops the session
	}
	c.deliverAnswer(i, agent.Answer{State: agent.TimedOut})
}

// deliverAnswer sends an answer whose resolution is durable. It reports whether the agent accepted it.
func (c *Conversation) deliverAnswer(i *openRequest, a agent.Answer) (taken bool) {
	err := c.reply(i, a)
	if err != nil {
		c.queueEvent(c.draft(events.InteractionUndelivered, undeliveredPayload{i.InteractionID, clip.Head(err.Error(), session.MaxError)}))
	}
	return err == nil
}

// cancelOpen cancels the open interactions and informs whoever asked. A tool's questions are
// canceled only when the session ends or is stopped.
func (c *Conversation) cancelOpen(reason string, stopping bool) {
	var open []*openRequest
	for _, i := range c.open {
		if i.resolved == nil || reason == interaction.Stopped || reason == interaction.SessionEnded {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return
	}
	var drafts []events.Draft
	for _, i := range open {
		drafts = append(drafts, c.resolve(i, interaction.Cancelled, interaction.Outcome{Reason: reason}))
	}
	silent := c.driver == nil || reason == interaction.TurnEnded // the agent is not informed
	if silent {
		c.s.Recorder.QueueEvents(drafts...)
	} else if c.s.Recorder.Commit(drafts...) != nil {
		return
	}
	for _, i := range open {
		cancelled := agent.Answer{State: agent.Cancelled, Stopping: stopping}
		switch {
		case i.resolved != nil:
			i.answerTool(cancelled)
		case !silent && c.driver.Answer(i.request.Key, cancelled) != nil:
			silent = true // an agent that does not read is ending, or the next write notices it
		}
	}
}

// Withdrawn records that the agent withdrew a request.
func (c *Conversation) Withdrawn(request string) {
	for _, i := range slices.Clone(c.open) {
		if i.resolved == nil && i.request.Key == request {
			c.queueEvent(c.resolve(i, interaction.Cancelled, interaction.Outcome{Reason: interaction.Withdrawn}))
		}
	}
}
