package learning

// The cycle of self-improvement: a recurring mistake is evaluated in a run of its own. If the
// evaluation passes, the rule against the mistake is proposed.
//
// A cycle has two units with a run between them. The first unit records the mistake and decides
// whether an evaluation is needed. The second writes the whole outcome of the evaluation. A
// process that dies between them leaves a recorded mistake, a run that ends by itself, and no
// decision. The next cycle evaluates again.

import (
	"context"
	"errors"
	"time"

	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Outcomes of a cycle.
const (
	RecordedOnly     = "recorded_only"
	AlreadyGuided    = "already_guided"
	EvaluationFailed = "evaluation_failed"
	ProposalCreated  = "proposal_created"
)

// evaluationLimit is how long an evaluation may take.
const evaluationLimit = 15 * time.Minute

// providerOfCycles is the provider of evaluation runs.
const providerOfCycles = "self_improve"

// Improvement describes a cycle. Its mistake names the project of the run and the artifacts, but
// no run.
type Improvement struct {
	Mistake
	ProposalThreshold int64
	Argv              []string // default: a command that does nothing and succeeds
	RepoID            string
	WorkdirRel        string
	Env               map[string]string
	Limit             time.Duration // 0 for 15 minutes
}

// CycleResult is the outcome of a cycle. Steps that were not reached are nil.
type CycleResult struct {
	Status            string `json:"status"`
	WorkerAgentID     string `json:"worker_agent_id"`
	ProjectID         string `json:"project_id"`
	MistakeKey        string `json:"mistake_key"`
	MistakeCount      int64  `json:"mistake_count"`
	ProposalThreshold int64  `json:"proposal_threshold"`
	Promoted          bool   `json:"promoted_to_agents_md"`
	*Evaluation
	*ProposedRule
}

// Evaluation is the result of an evaluation.
type Evaluation struct {
	RunID           string  `json:"run_id"`
	ContextPackID   string  `json:"context_pack_id"`
	ExitCode        *int    `json:"evaluation_exit_code"`
	Signal          *string `json:"evaluation_signal"`
	ArtifactID      string  `json:"evaluation_artifact_id"`
	ArtifactRelpath string  `json:"evaluation_artifact_relpath"`
	ArtifactType    string  `json:"evaluation_artifact_type"`
}

// ProposedRule is the memory delta that would add a rule to the guidance.
type ProposedRule struct {
	DeltaID      string `json:"memory_delta_artifact_id"`
	DeltaRelpath string `json:"memory_delta_artifact_relpath"`
	PatchRelpath string `json:"memory_delta_patch_relpath"`
	TargetFile   string `json:"target_file"`
}

// Improve runs one cycle. It waits for the evaluation outside of every lock and outside of the
// order of requests. The result is durable on return. If ctx ends during the evaluation, the
// cycle decides nothing, and the run continues by itself.
func Improve(ctx context.Context, w *workspace.Workspace, conductor runs.Conductor, want Improvement) (CycleResult, error) {
	if err := want.check(w); err != nil {
		return CycleResult{}, err
	}
	if len(want.Argv) == 0 {
		want.Argv = []string{"true"}
	}
	result, err := want.begin(ctx, w)
	if err != nil || result.Status != "" {
		return result, err
	}
	waiting, done, err := inflight.Wait(ctx)
	if err != nil {
		return result, err
	}
	made, record, err := want.evaluate(waiting, w, conductor)
	done()
	if err != nil {
		return result, err
	}
	e := evaluation{Improvement: want, run: made, record: record, argv: conductor.MaskedArgv(want.Argv, want.Env)}
	err = w.Update(ctx, func(u *workspace.Unit) (err error) {
		result, err = e.conclude(u, result)
		return err
	})
	return result, err
}

// begin records the mistake and decides whether an evaluation is needed. If so, the status is
// empty.
func (want Improvement) begin(ctx context.Context, w *workspace.Workspace) (result CycleResult, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if err := want.prepared(u); err != nil {
			return err
		}
		recorded, err := recordIn(u, want.Mistake)
		if err != nil {
			return err
		}
		result = CycleResult{
			WorkerAgentID: want.Worker, ProjectID: want.ProjectID, MistakeKey: want.Key,
			MistakeCount: recorded.Count, ProposalThreshold: want.ProposalThreshold, Promoted: recorded.Promoted,
		}
		if recorded.Count < want.ProposalThreshold {
			result.Status = RecordedOnly
			return nil
		}
		result, err = existingCycle(u, want.Mistake, result)
		return err
	})
	return result, err
}

// prepared rejects a cycle that could not be evaluated, before anything is recorded.
func (want Improvement) prepared(u *workspace.Unit) error {
	w := u.Workspace()
	if _, err := w.Project(want.ProjectID); err != nil {
		return err
	}
	if want.RepoID == "" {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	if _, mapped := machine.RepoRoots[want.RepoID]; !mapped {
		return fault.New(fault.NotFound, "repository %s is not mapped on this machine (map it with workspace.repo_root.set)", want.RepoID)
	}
	return nil
}

// existingCycle checks whether the rule of a mistake is in the guidance or proposed already. If
// neither, the status stays empty.
func existingCycle(u *workspace.Unit, m Mistake, result CycleResult) (CycleResult, error) {
	guidance, _, err := guidanceIn(u, m.Worker)
	if err != nil {
		return result, err
	}
	if hasRule(guidance, m.Key) {
		result.Status = AlreadyGuided
		return result, nil
	}
	pending, err := pendingRule(u.Workspace(), m)
	if err != nil || pending == nil {
		return result, err
	}
	result.Status, result.ProjectID = ProposalCreated, pending.project
	result.Evaluation, result.ProposedRule = pending.evaluated(), pending.proposed()
	return result, nil
}

// evaluate creates a run and executes the evaluation in it.
func (want Improvement) evaluate(ctx context.Context, w *workspace.Workspace, conductor runs.Conductor) (made runs.CreateResult, record doc.Session, err error) {
	if err := context.Cause(ctx); err != nil {
		return made, record, err
	}
	made, err = runs.Create(ctx, w, want.ProjectID, want.Manager.ID, providerOfCycles)
	if err != nil {
		return made, record, err
	}
	order := session.Order{
		ProjectID: want.ProjectID, RunID: made.RunID, AgentID: want.Manager.ID, Provider: providerOfCycles, Argv: want.Argv,
		RepoID: want.RepoID, TaskID: want.TaskID, Env: want.Env, LimitMS: evaluationLimit.Milliseconds(),
	}
	if want.Limit > 0 {
		order.LimitMS = want.Limit.Milliseconds()
	}
	if want.RepoID != "" {
		order.WorkdirRel = want.WorkdirRel
	}
	if want.TaskID != "" {
		order.MilestoneID = want.MilestoneID
	}
	record, err = conductor.Conduct(ctx, w, order)
	if err == nil && !doc.Terminal(record.Status) {
		err = errors.New("the evaluation is followed by another program: " + record.Error)
	}
	return made, record, err
}

// check rejects improvements whose mistake cannot be recorded.
func (want Improvement) check(w *workspace.Workspace) error {
	if want.ProjectID == "" || want.RunID != "" {
		return fault.New(fault.Internal, "a cycle has a project and makes its own run")
	}
	return want.Mistake.check(w)
}
