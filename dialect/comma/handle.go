package comma

// Requests: the handler of each type of message.

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ac/company"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs/session"
	"ac/workspace/doc"
)

type handler = func(ctx context.Context, r *request) error

func (c *connection) handlers() map[string]handler {
	return map[string]handler{
		"ping":                 c.pong,
		"prepare_run":          c.prepareRun,
		"start_run":            c.startRun,
		"continue_run":         c.continueRun,
		"stop_run":             c.stopRun,
		"list_strategies":      c.listStrategies,
		"list_runs":            c.listRuns,
		"list_providers":       c.listProviders,
		"get_available_models": c.availableModels,
		"subscribe":            c.subscribe,
		"unsubscribe":          c.unsubscribe,
		"user_input":           c.userInput,
		"steer_run":            c.steerRun,
		"permission_decision":  c.decide,
		"question_response":    c.answerQuestion,
		"update_policy":        c.updatePolicy,
		"register_provider":    c.registerProvider,
		"unregister_provider":  c.unregisterProvider,
		"set_credential":       c.setCredential,
		"list_mcp_servers":     c.listMCPServers,
		"update_mcp_server":    c.updateMCPServer,
		"trash_list":           c.listTrash,
		"trash_clear":          c.clearTrash,
		"trash_restore":        c.restoreTrash,
		"hub_list":             c.listHub,
		"hub_install":          c.refuseHub,
		"hub_update":           c.refuseHub,
		"hub_remove":           c.refuseHub,
	}
}

func (c *connection) pong(_ context.Context, r *request) error {
	c.answer(r.RequestID, frame{"pong", noBody{}})
	return nil
}

// record returns the current record of a run. It first advances the run if something is due.
func (s *server) record(ctx context.Context, run string) (doc.WorkflowRun, error) {
	if why := shape.CheckID(run); why != "" {
		return doc.WorkflowRun{}, fault.New(fault.NotFound, "run %s", why)
	}
	return dialect.Do(ctx, s.Company, orchestration.Operations.WorkflowRecord, orchestration.WorkflowRecordParams{WorkflowRunParams: s.run(run)})
}

// records returns the records of all workflow runs, the latest round first.
func (s *server) records(ctx context.Context) ([]doc.WorkflowRun, error) {
	list, err := dialect.Do(ctx, s.Company, orchestration.Operations.WorkflowRecords, company.ProjectParams{Dir: s.In(), ProjectID: s.ProjectID})
	slices.SortStableFunc(list, func(a, b doc.WorkflowRun) int { return strings.Compare(b.Round().StartedAt, a.Round().StartedAt) })
	return list, err
}

// stopRun cancels a run, or discards a prepared one. It silently ignores a run that is over or does
// not exist.
func (c *connection) stopRun(ctx context.Context, r *request) error {
	s := c.server
	if p := s.memory.take(r.RunID); p != nil {
		s.broadcast(r.RunID, nil, frame{"strategy_error", strategyError{r.RunID, errorBody{"CANCELLED", cancelled}}})
		return nil
	}
	if shape.CheckID(r.RunID) != "" {
		return nil
	}
	_, err := dialect.Do(ctx, s.Company, orchestration.Operations.CancelWorkflow, s.run(r.RunID))
	if unknown(err) {
		return nil
	}
	return err
}

// cancelled is the message of a run that was stopped.
const cancelled = "Run cancelled by client"

// broadcast sends a message to all connections that are subscribed to a run.
func (s *server) broadcast(run string, id *string, f frame) {
	for _, c := range s.connections.All() {
		if c.subscribed(run) {
			c.answer(id, f)
		}
	}
}

// subscribe subscribes to a run that is prepared, active or over.
func (c *connection) subscribe(ctx context.Context, r *request) error {
	if c.server.memory.find(r.RunID) == nil {
		if _, err := c.server.record(ctx, r.RunID); unknown(err) {
			return fail("SUBSCRIBE_ERROR", "Run %s not found", r.RunID)
		} else if err != nil {
			return err
		}
	}
	return c.follow(ctx, r.RunID)
}

// join subscribes to the run that a message names, if it exists. A client that reconnects sends
// only its next command.
func (c *connection) join(ctx context.Context, run string) error {
	if c.subscribed(run) {
		return nil
	}
	if c.server.memory.find(run) == nil {
		if _, err := c.server.record(ctx, run); unknown(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return c.follow(ctx, run)
}

func (c *connection) unsubscribe(_ context.Context, r *request) error {
	c.unfollow(r.RunID)
	return nil
}

// steerRun sends a text to a run: to its running agents, or to the first call of a prepared run.
func (c *connection) steerRun(ctx context.Context, r *request) error {
	s := c.server
	if err := c.join(ctx, r.RunID); err != nil {
		return err
	}
	if p := s.memory.find(r.RunID); p != nil && !p.again {
		if s.memory.say(r.RunID, r.Text) {
			s.broadcast(r.RunID, nil, frame{"steer_queued", steerQueued{r.RunID, r.Text}})
			return nil
		}
	}
	record, err := s.record(ctx, r.RunID)
	if err != nil && !unknown(err) {
		return err
	}
	if err != nil || record.Over() && s.memory.find(r.RunID) == nil {
		return fail("RUN_NOT_STEERABLE", "Cannot steer run %s: not running", r.RunID)
	}
	p := orchestration.SteerParams{Text: r.Text, Mode: session.ModeNextTurn}
	s.act(&p, r.RunID)
	if _, err = dialect.Do(ctx, s.Company, orchestration.Operations.Steer, p); err != nil {
		return fail("RUN_NOT_STEERABLE", "%s", oneLine(err))
	}
	return nil
}

// actor is implemented by params that name a run and an actor.
type actor interface {
	Act(dir, project, run, actor, role, team string)
}

// act sets the run and the listener's actor in params.
func (s *server) act(p actor, run string) {
	p.Act(s.Dir, s.ProjectID, run, s.Actor.ActorID, s.Actor.ActorRole, s.Actor.ActorTeamID)
}

// oneLine returns an error as one line for people.
func oneLine(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason == fault.InvalidParams {
		text = fault.JoinIssues(e.Issues)
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
}
