package session

// Interactions: what the agent asks and waits for. The policy of the run judges first;
// what it leaves to people waits for an answer, a time-out or the end, whichever comes
// first. Each has exactly one resolution, which is durable before the agent hears it.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/runs/agent"
	"ac/runs/policy"
	"ac/workspace/doc"
)

// Bounds of an interaction.
const (
	maxOpen     = 64
	maxTitle    = 300
	maxAsked    = 16 << 10
	maxResource = 4 << 10
	maxDiff     = 64 << 10
)

// interaction is one that waits.
type interaction struct {
	requestedPayload
	request  agent.Request
	accesses []policy.Access
	rule     string // that asked, "" for none
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

type option struct {
	ID          string `json:"option_id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect,omitempty"`
	Scope       string `json:"scope,omitempty"`
}

type choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

type question struct {
	ID       string   `json:"question_id"`
	Header   string   `json:"header,omitempty"`
	Question string   `json:"question"`
	Multi    bool     `json:"multi_select"`
	Free     bool     `json:"free_text"`
	Secret   bool     `json:"secret"`
	Options  []choice `json:"options"`
}

// requestedPayload is the payload of interaction.requested.
type requestedPayload struct {
	ID          string     `json:"interaction_id"`
	Kind        string     `json:"kind"`
	Turn        int        `json:"turn"`
	Title       string     `json:"title"`
	Prompt      string     `json:"prompt"`
	Tool        string     `json:"tool,omitempty"`
	Operation   string     `json:"operation,omitempty"`
	Resource    *string    `json:"resource,omitempty"`
	Args        string     `json:"args_preview,omitempty"`
	Diff        string     `json:"diff,omitempty"`
	Item        string     `json:"item_id,omitempty"`
	Options     []option   `json:"options,omitempty"`
	Questions   []question `json:"questions,omitempty"`
	RequestedAt string     `json:"requested_at"`
	ExpiresAt   *string    `json:"expires_at"`
	OnTimeout   string     `json:"on_timeout"`
}

// resolvedPayload is the payload of interaction.resolved.
type resolvedPayload struct {
	ID       string              `json:"interaction_id"`
	Kind     string              `json:"kind"`
	State    string              `json:"state"`
	By       string              `json:"by"`
	ByRole   string              `json:"by_role,omitempty"`
	Scope    string              `json:"scope,omitempty"`
	Text     string              `json:"text,omitempty"`
	Answers  map[string][]string `json:"answers,omitempty"`
	OptionID string              `json:"option_id,omitempty"`
	Note     string              `json:"note,omitempty"`
	Reason   string              `json:"reason"`
}

type undeliveredPayload struct {
	ID    string `json:"interaction_id"`
	Error string `json:"error"`
}

// errGone says that there is nobody to hand an answer to.
var errGone = errors.New("the agent is gone")

// situation is what a judgement depends on beside the policy.
func (c *conversation) situation() policy.Situation {
	return policy.Situation{Interactive: c.order.Interactive, OwnTools: c.order.MCP}
}

// accesses are what a request wants, as rules see it.
func (c *conversation) accesses(q agent.Request) (list []policy.Access) {
	for _, want := range q.Wants {
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

// Asked judges what the agent asks, and asks a person what is left to people.
func (c *conversation) Asked(q agent.Request) {
	i := &interaction{request: q, accesses: c.accesses(q)}
	if c.closing {
		_ = c.driver.Answer(q.Key, agent.Answer{State: agent.Cancelled, Stopping: true}) // it is ending
		return
	}
	if q.Kind == agent.Question || q.Kind == agent.Input {
		if !c.order.Interactive || len(c.open) >= maxOpen {
			c.reply(i, agent.Answer{State: agent.Cancelled})
			return
		}
		c.ask(i)
		return
	}
	v := c.judge(i)
	if v.Effect == doc.Ask && len(c.open) >= maxOpen {
		v.Effect = doc.Deny
	}
	judged := c.judged(i, v)
	switch {
	case v.Effect == doc.Ask:
		i.rule = v.RuleID
		c.tell(judged)
		c.ask(i)
	case c.s.recorder.commit(judged) != nil:
		// The recorder stops the session.
	case v.Effect == doc.Allow:
		c.reply(i, agent.Answer{State: agent.Allowed})
		c.planAllowed(i, "system")
	default:
		c.reply(i, agent.Answer{State: agent.Denied, Text: "Denied by the policy of this run (" + string(v.By) + ")."})
	}
}

func (c *conversation) judge(i *interaction) policy.Verdict {
	if i.request.Kind == agent.Plan {
		return policy.JudgePlan(c.policy, c.situation())
	}
	return policy.Judge(c.policy, c.situation(), i.accesses...)
}

func (c *conversation) judged(i *interaction, v policy.Verdict) events.Draft {
	access := v.Access
	if access.Operation == "" && len(i.accesses) > 0 {
		access = i.accesses[0]
	}
	operation := string(access.Operation)
	if i.request.Kind == agent.Plan {
		operation = agent.Plan
	}
	return c.draft(events.PermissionJudged, judgedPayload{
		RequestID: i.request.Key, Operation: operation, Resource: clippedTo(c.masked(access.Resource), maxResource), Effect: string(v.Effect),
		By: string(v.By), RuleID: v.RuleID, Mode: string(c.policy.Mode), Tool: i.request.Tool, Title: c.title(i.request), ItemID: i.request.Item,
	})
}

// title is one line for people.
func (c *conversation) title(q agent.Request) string {
	text := strings.Join(strings.Fields(c.masked(q.Title)), " ")
	if text == "" {
		text = cmp.Or(q.Tool, q.Kind)
	}
	return clippedTo(text, maxTitle)
}

// ask puts a question to people.
func (c *conversation) ask(i *interaction) {
	q := i.request
	now, limit := c.s.w.Env.Clock.Now(), time.Duration(c.order.PermissionMS)*time.Millisecond
	i.requestedPayload = requestedPayload{
		ID: c.s.w.Env.IDs.New("int"), Kind: q.Kind, Turn: c.turns, Title: c.title(q), Prompt: clippedTo(c.masked(q.Prompt), maxAsked), Tool: q.Tool,
		Args: clippedTo(c.masked(string(q.Args)), maxAsked), Diff: clippedTo(c.masked(q.Diff), maxDiff), Item: q.Item,
		RequestedAt: clock.Stamp(now), OnTimeout: "deny",
	}
	switch q.Kind {
	case agent.Permission, agent.Plan:
		i.Options = c.permissionOptions(i)
		if len(i.accesses) > 0 {
			access := c.judge(i).Access
			if access.Operation == "" {
				access = i.accesses[0]
			}
			i.Operation, i.Resource = string(access.Operation), new(clippedTo(c.masked(access.Resource), maxResource))
			if c.policy.PermissionLevel == doc.LevelReadOnly && access.Operation == doc.OpExec {
				i.Prompt = strings.TrimSpace(i.Prompt + "\nIt runs outside of the sandbox.")
			}
		}
	case agent.Question:
		limit, i.OnTimeout = time.Duration(c.order.QuestionMS)*time.Millisecond, "cancel"
		i.Questions = c.questions(q)
		if len(i.Questions) == 1 {
			for n, one := range i.Questions[0].Options {
				i.Options = append(i.Options, option{ID: fmt.Sprintf("choice_%d", n+1), Label: one.Label, Description: one.Description})
			}
		}
	default:
		limit, i.OnTimeout = 0, "cancel"
	}
	if limit > 0 {
		i.ExpiresAt = new(clock.Stamp(now.Add(limit)))
		c.after(i.ID, limit, func() { c.expire(i) })
	}
	d := c.draft(events.InteractionRequested, i.requestedPayload)
	d.Actor, d.Visibility = c.s.order.AgentID, events.VisibilityTeam
	c.tell(d)
	c.open = append(c.open, i)
}

func (c *conversation) permissionOptions(i *interaction) []option {
	allow := option{ID: "allow", Label: "Allow once", Effect: "allow", Scope: "once"}
	if i.request.Always {
		allow.Label = "Allow for the whole conversation"
	}
	options := []option{allow}
	if i.request.Kind == agent.Permission && policy.OffersSession(c.policy, i.accesses...) {
		options = append(options, option{ID: "allow_session", Label: "Allow for this session", Effect: "allow", Scope: "session"})
	}
	return append(options, option{ID: "deny", Label: "Deny", Effect: "deny", Scope: "once"})
}

func (c *conversation) questions(q agent.Request) (list []question) {
	for _, one := range q.Questions[:min(len(q.Questions), 8)] {
		shown := question{ID: one.ID, Header: c.masked(one.Header), Question: c.masked(one.Question), Multi: one.Multi, Free: one.Free, Secret: one.Secret, Options: []choice{}}
		for _, o := range one.Choices {
			shown.Options = append(shown.Options, choice{c.masked(o.Label), c.masked(o.Description)})
		}
		list = append(list, shown)
	}
	return list
}

// reply answers the agent. It reports whether the agent's stdin took it.
func (c *conversation) reply(i *interaction, a agent.Answer) error {
	if c.driver == nil {
		return errGone
	}
	err := c.driver.Answer(i.request.Key, a)
	if err != nil {
		c.stuck(err)
	}
	return err
}

// drop takes an interaction out of those that wait.
func (c *conversation) drop(i *interaction) {
	c.callOff(i.ID)
	c.open = slices.DeleteFunc(c.open, func(other *interaction) bool { return other == i })
}

func (c *conversation) resolved(p resolvedPayload) events.Draft {
	d := c.draft(events.InteractionResolved, p)
	d.Actor, d.Visibility = cmp.Or(p.By, events.ActorSystem), events.VisibilityTeam
	return d
}

// expire resolves what nobody answered in time.
func (c *conversation) expire(i *interaction) {
	c.drop(i)
	if c.s.recorder.commit(c.resolved(resolvedPayload{ID: i.ID, Kind: i.Kind, State: agent.TimedOut, By: events.ActorSystem, Reason: reasonTimeout})) != nil {
		return // the recorder stops the session
	}
	c.hand(i, agent.Answer{State: agent.TimedOut})
}

// hand hands an answer over whose resolution is durable.
func (c *conversation) hand(i *interaction, a agent.Answer) (taken bool) {
	err := c.reply(i, a)
	if err != nil {
		c.tell(c.draft(events.InteractionUndelivered, undeliveredPayload{i.ID, clippedTo(err.Error(), maxError)}))
	}
	return err == nil
}

// cancelOpen resolves all that is open for a reason of ours, and tells the agent.
func (c *conversation) cancelOpen(reason string, stopping bool) {
	if len(c.open) == 0 {
		return
	}
	open := slices.Clone(c.open)
	var drafts []events.Draft
	for _, i := range open {
		c.drop(i)
		drafts = append(drafts, c.resolved(resolvedPayload{ID: i.ID, Kind: i.Kind, State: agent.Cancelled, By: events.ActorSystem, Reason: reason}))
	}
	if c.driver == nil || reason == reasonTurnEnded {
		c.s.recorder.tell(drafts...) // nobody hears of it
		return
	}
	if c.s.recorder.commit(drafts...) != nil {
		return
	}
	for _, i := range open {
		if c.driver.Answer(i.request.Key, agent.Answer{State: agent.Cancelled, Stopping: stopping}) != nil {
			return // an agent that does not read is being ended, or found by what comes next
		}
	}
}

// Withdrawn takes that the agent no longer waits.
func (c *conversation) Withdrawn(request string) {
	for _, i := range slices.Clone(c.open) {
		if i.request.Key == request {
			c.drop(i)
			c.tell(c.resolved(resolvedPayload{ID: i.ID, Kind: i.Kind, State: agent.Cancelled, By: events.ActorSystem, Reason: reasonWithdrawn}))
		}
	}
}
