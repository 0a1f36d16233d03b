package comma

// Preparing, starting and continuing runs.

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/shape"
	"ac/workspace/doc"
)

// maxEnvelope bounds the members common to all messages, in bytes, without the requestId.
const maxEnvelope = 256

// runID matches the ids that a client may choose.
var runID = lazyregexp.New(`^[A-Za-z0-9_-]{1,100}$`)

// prepareRun reads a strategy and answers with the run it would become. It stores nothing durably.
func (c *connection) prepareRun(ctx context.Context, r *request) error {
	s := c.server
	arrived := s.Clock.Now()
	if r.RunID != "" && !runID().MatchString(r.RunID) {
		return fail(codePrepare, "Invalid runId")
	}
	p, record, err := s.prepare(ctx, r)
	if err != nil {
		return refusal(err, codePrepare)
	}
	if p.run == "" {
		p.run = s.ids.New("run")
	}
	live := record != nil && !record.Over()
	if p.at, p.owner = arrived, c; !live {
		if err := s.memory.keep(p); err != nil {
			return err
		}
	}
	body := runPrepared{RunID: p.run, StrategyName: p.shown.name, Agents: p.shown.keys, FlowTree: p.shown.flow, Conversation: noConversation()}
	if body.MCPServers, err = s.mcpServers(ctx, p.shown); err != nil {
		return refusal(err, codePrepare)
	}
	if record != nil {
		rest := encodedSize(body) + encodedSize(r.RequestID) + maxEnvelope
		if body.Conversation, err = s.conversation(ctx, *record, maxConversation-rest); err != nil {
			return refusal(err, codePrepare)
		}
	}
	c.hold(p.run, arrived.Add(s.delay), r.RequestID, frame{"run_prepared", body})
	return c.follow(ctx, p.run)
}

// refusal converts an error into a reply with a code. It leaves replies unchanged.
func refusal(err error, code string) error {
	if _, known := errors.AsType[*failed](err); known || err == nil {
		return err
	}
	return fail(code, "%s", oneLine(err))
}

// prepare returns the run that a request names: a new run, an active one, or a finished one to
// continue. The last two come with their record.
func (s *server) prepare(ctx context.Context, r *request) (p *prepared, record *doc.WorkflowRun, err error) {
	if r.RunID != "" {
		if s.memory.fresh(r.RunID) != nil {
			return nil, nil, fail(codePrepare, "Run already exists: %s", r.RunID)
		}
		found, err := s.record(ctx, r.RunID)
		switch {
		case err == nil:
			record = &found
		case !unknown(err):
			return nil, nil, err
		}
	}
	switch {
	case record == nil && r.StrategyPath == "":
		return nil, nil, fail(codePrepare, "Run not found: %s", r.RunID)
	case record != nil && !record.Over():
		p, err = s.again(record)
		return p, record, err
	case r.StrategyPath != "":
		p, err = s.fresh(ctx, r)
	default:
		if p, err = s.again(record); err == nil && r.ModelOverride != "" {
			err = s.reassign(ctx, p, r.ModelOverride)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if p.run, p.again = r.RunID, record != nil; record == nil || r.Cwd != "" {
		p.moves = true
		if p.place, err = s.place(ctx, r.Cwd); err != nil {
			return nil, nil, err
		}
	}
	place := p.place
	if record != nil && !p.moves {
		place = record.Place
	}
	return p, record, s.fits(ctx, p.template, place)
}

// again returns a prepared run with the template of the run's last round.
func (s *server) again(record *doc.WorkflowRun) (*prepared, error) {
	template := record.Templates[record.Round().Template]
	view, err := show(template)
	return &prepared{run: record.RunID, again: true, template: template, shown: view, source: record.SourcePath}, err
}

// reassign assigns the tasks of a template to the agents that serve a model.
func (s *server) reassign(ctx context.Context, p *prepared, model string) error {
	choose, err := s.chooser(ctx, true)
	if err != nil {
		return err
	}
	var visit func(v shape.Value) shape.Value
	visit = func(v shape.Value) shape.Value {
		made := shape.Value{Kind: v.Kind, Bool: v.Bool, Num: v.Num, Text: v.Text, Keys: v.Keys}
		for i := range v.Items {
			made.Items = append(made.Items, visit(v.Items[i]))
		}
		if v.Kind != shape.Map || v.Get("kind").Text != doc.NodeTask {
			return made
		}
		agent, chosen, chooseErr := choose(v.Get("name").Text, model)
		err = cmp.Or(err, chooseErr)
		made = made.Without("agent", "model")
		put(&made, "agent", obj("agent_id", str(agent)))
		if chosen != "" {
			put(&made, "model", str(chosen))
		}
		return made
	}
	p.template = visit(p.template)
	return err
}

// fresh returns a prepared run of the strategy that a request names.
func (s *server) fresh(ctx context.Context, r *request) (*prepared, error) {
	path := r.StrategyPath
	if id, ok := strings.CutPrefix(path, "workflow:"); ok {
		found, err := dialect.Do(ctx, s.Company, orchestration.Operations.GetWorkflow, orchestration.GetWorkflowParams{Dir: s.In(), WorkflowID: id})
		if unknown(err) {
			return nil, notFound(path)
		}
		if err != nil {
			return nil, err
		}
		view, err := show(found.Template)
		return &prepared{template: found.Template, shown: view, source: path}, err
	}
	made, err := s.strategy(ctx, path, r.Cwd, r.ModelOverride)
	if err != nil {
		return nil, err
	}
	view, err := show(made.template)
	return &prepared{
		template: made.template, shown: view, notices: made.notices, source: absolute(path, r.Cwd, s.dir),
	}, s.unfit(err)
}

// strategy reads and translates a strategy file.
func (s *server) strategy(ctx context.Context, path, cwd, override string) (translated, error) {
	repos, err := s.repositories(ctx)
	if err != nil {
		return translated{}, err
	}
	roots := folders{s.dir}
	for _, repo := range repos {
		roots = append(roots, repo.Root)
	}
	from, err := append(roots, s.opts.Folders...).open(absolute(path, cwd, s.dir))
	if err != nil {
		return translated{}, err
	}
	defer from.close()
	value, err := from.read()
	if err != nil {
		return translated{}, err
	}
	choose, err := s.chooser(ctx, override != "")
	if err != nil {
		return translated{}, err
	}
	servers, err := s.workspaceServers(ctx)
	if err != nil {
		return translated{}, err
	}
	t := translator{from: from, level: s.opts.Level, choose: choose, override: override}
	for _, m := range servers {
		t.given = append(t.given, m.ID)
	}
	return t.translate(&value)
}

// fits refuses an invalid template and reports all its issues.
func (s *server) fits(ctx context.Context, template shape.Value, place *doc.JobPlace) error {
	checked, err := dialect.Do(ctx, s.Company, orchestration.Operations.CheckWorkflow, orchestration.CheckWorkflowParams{Dir: s.In(), Template: template, Place: place})
	if err != nil || len(checked.Issues) == 0 {
		return err
	}
	lines := make([]string, len(checked.Issues))
	for i, issue := range checked.Issues {
		lines[i] = issue.Path + ": " + issue.Message
	}
	return fail(codePrepare, "Strategy validation failed:\n  - %s", strings.Join(lines, "\n  - "))
}

// unfit converts the error of a template made from a strategy into the form that fits uses.
func (s *server) unfit(err error) error {
	if err == nil {
		return nil
	}
	r := reader{}
	r.take(err, "")
	return r.err()
}

// startRun starts a prepared run.
func (c *connection) startRun(ctx context.Context, r *request) error {
	const code = "START_FAILED"
	s := c.server
	p, err := c.toBegin(ctx, r, code)
	if err != nil {
		return err
	}
	if s.liveRuns(ctx) >= maxLive {
		s.memory.putBack(p)
		return fail(code, "Too many runs")
	}
	s.memory.ask(p.run, 1, r.RequestID)
	_, err = dialect.Do(ctx, s.Company, orchestration.Operations.RunWorkflow, orchestration.RunWorkflowParams{
		Dir: s.In(), ProjectID: s.ProjectID, RunID: p.run, Template: p.template, Input: r.Input, Priority: "normal", Place: p.place,
		Origin: &doc.JobOrigin{Kind: origin}, SourcePath: p.source, ActorID: s.Actor.ActorID, ActorRole: s.Actor.ActorRole,
		Said: p.said, Notices: p.notices,
	})
	if fault.Is(err, fault.RunExists) {
		c.rouse()
		return fail(code, "Run already started: %s", p.run)
	}
	return c.begun(p, code, err)
}

// begun records that a prepared run started. If it did not, it puts the run back and returns the
// refusal.
func (c *connection) begun(p *prepared, code string, err error) error {
	defer c.rouse()
	if err != nil {
		c.server.memory.putBack(p)
		return refusal(err, code)
	}
	c.server.memory.begun(p.run)
	return nil
}

// continueRun starts another round of a finished run that was prepared again.
func (c *connection) continueRun(ctx context.Context, r *request) error {
	const code = "CONTINUE_FAILED"
	s := c.server
	p, err := c.toBegin(ctx, r, code)
	if err != nil {
		return err
	}
	record, err := s.record(ctx, p.run)
	if err != nil {
		s.memory.putBack(p)
		return refusal(err, code)
	}
	s.memory.ask(p.run, record.Round().Round+1, r.RequestID)
	_, err = dialect.Do(ctx, s.Company, orchestration.Operations.ContinueWorkflow, orchestration.ContinueWorkflowParams{
		Dir: s.In(), ProjectID: s.ProjectID, RunID: p.run, Input: r.Input, Template: p.template, ActorID: s.Actor.ActorID, ActorRole: s.Actor.ActorRole,
		Notices: p.notices, Place: p.place, Moves: p.moves,
	})
	if fault.Is(err, fault.RunBusy) {
		c.rouse()
		return fail(code, "Run is not over: %s", p.run)
	}
	return c.begun(p, code, err)
}

// toBegin takes the prepared run of a request out of the memory, or returns why there is none.
func (c *connection) toBegin(ctx context.Context, r *request, code string) (*prepared, error) {
	s := c.server
	again := code == "CONTINUE_FAILED"
	if err := c.join(ctx, r.RunID); err != nil {
		return nil, refusal(err, code)
	}
	if len(r.Input) > maxSaid {
		return nil, fail(code, "Input is larger than 256 KiB")
	}
	if p := s.memory.find(r.RunID); p != nil {
		switch {
		case p.again && !again:
			return nil, fail(code, "Run was prepared for continuation: %s", r.RunID)
		case !p.again && again:
			return nil, fail(code, "Run was not prepared for continuation: %s", r.RunID)
		}
		if p = s.memory.take(r.RunID); p != nil {
			return p, nil
		}
	}
	record, err := s.record(ctx, r.RunID)
	switch {
	case unknown(err) || err == nil && record.Over():
		return nil, fail(code, "Prepared run not found: %s", r.RunID)
	case err != nil:
		return nil, refusal(err, code)
	case again:
		return nil, fail(code, "Run is not over: %s", r.RunID)
	}
	return nil, fail(code, "Run already started: %s", r.RunID)
}

// liveRuns returns how many of the runs that this listener started are active.
func (s *server) liveRuns(ctx context.Context) (n int) {
	for _, run := range s.memory.startedRuns() {
		if record, err := s.record(ctx, run); err == nil && !record.Over() {
			n++
		}
	}
	return n
}
