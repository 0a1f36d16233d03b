package decisions

// needs.get: one thing that waits for a person, with the evidence for the decision.

import (
	"cmp"
	"context"
	"math"
	"strings"

	"ac/company"
	"ac/events"
	"ac/governance"
	"ac/governance/files"
	"ac/governance/needs"
	"ac/index"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/internal/shape"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/transcript"
	"ac/snapshot"
	"ac/workspace"
)

// NeedParams are the params of needs.get.
type NeedParams struct {
	company.Dir
	NeedID string `json:"need_id"`
}

// CheckFields rejects an invalid need id.
func (p *NeedParams) CheckFields() []fault.Issue {
	if needs.CheckID("need_id", p.NeedID) == nil {
		return nil
	}
	return []fault.Issue{{Path: []any{"need_id"}, Code: "custom", Message: "must be the id of a need, such as memory:art_… or run_failed:run_…:1"}}
}

// NeedResult is the result of needs.get.
type NeedResult struct {
	needs.Need
	State string    `json:"state"` // open or dismissed
	Proof NeedProof `json:"proof"`
}

// NeedProof is the evidence for a decision on a need. Which fields are set depends on its kind.
type NeedProof struct {
	Interaction *interaction.Record `json:"interaction,omitempty"`
	Help        *HelpResult         `json:"help,omitempty"`
	Delta       *DeltaPreview       `json:"delta,omitempty"`
	// Evidence is the evidence of a milestone report. Artifact is then the report.
	Evidence *governance.MilestoneEvidence `json:"evidence,omitempty"`
	Artifact *ProofArtifact                `json:"artifact,omitempty"`
	Files    *files.Listing                `json:"files,omitempty"`
	Failure  *ProofFailure                 `json:"failure,omitempty"`
	Budget   *snapshot.BudgetDecision      `json:"budget,omitempty"`
	Log      *ProofLog                     `json:"log,omitempty"`
	// Items are the newest items of the run's transcript.
	Items []*transcript.Item `json:"items,omitempty"`
	// Changes are what the run changed, without diffs.
	Changes *ChangeTotals `json:"changes,omitempty"`
}

// ProofArtifact is an artifact in its current state.
type ProofArtifact struct {
	Frontmatter shape.Value `json:"frontmatter"`
	Markdown    string      `json:"markdown"`
}

// ProofFailure is why a run failed.
type ProofFailure struct {
	Error     string  `json:"error,omitempty"`
	ErrorKind string  `json:"error_kind,omitempty"`
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
}

// ProofLog lists the first faults of each kind in a log.
type ProofLog struct {
	ParseIssues        []events.ParseIssue  `json:"parse_issues"`
	VerificationIssues []events.VerifyIssue `json:"verification_issues"`
}

// Limits of proofs.
const (
	proofItems  = 5
	proofFaults = 50
)

// Need returns a need with its proof. For a need that is over, the error is fault.Settled. It
// reports how it ended and, if known, by whom and when.
func (c Operations) Need(ctx context.Context, p NeedParams) (result NeedResult, err error) {
	var found snapshot.Needs
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		if found, err = m.Needs(""); err != nil {
			return err
		}
		if n, state, ok := findNeed(&found, p.NeedID); ok {
			result = NeedResult{Need: n, State: state}
			result.Proof, err = c.indexProof(m, n)
			return err
		}
		return c.howSettled(m, p.NeedID)
	})
	if err == nil {
		err = c.proof(ctx, result.Need, &result.Proof)
	}
	return result, err
}

func findNeed(found *snapshot.Needs, id string) (n needs.Need, state string, ok bool) {
	for _, n := range found.Open {
		if n.NeedID == id {
			return n, "open", true
		}
	}
	for _, n := range found.Dismissed {
		if n.NeedID == id {
			return n, "dismissed", true
		}
	}
	return n, "", false
}

// indexProof returns the part of a proof that comes from the index.
func (c Operations) indexProof(m *snapshot.View, n needs.Need) (proof NeedProof, err error) {
	switch n.Kind {
	case needs.RunFailed, needs.OverBudget:
		row, known, err := m.OneRun(index.RunKey{ProjectID: n.ProjectID, RunID: n.RunID})
		if err != nil || !known {
			return proof, err
		}
		proof.Budget = row.LatestBudgetDecision
		if n.Kind == needs.RunFailed {
			proof.Failure = &ProofFailure{}
			if s := row.RowSession; s != nil {
				*proof.Failure = ProofFailure{Error: s.Error, ErrorKind: s.ErrorKind, ExitCode: s.ExitCode, Signal: s.Signal}
			}
		}
	}
	return proof, nil
}

// proof adds what the files hold.
func (c Operations) proof(ctx context.Context, n needs.Need, proof *NeedProof) (err error) {
	item := governance.Item{ProjectID: n.ProjectID, ArtifactID: n.Ref()}
	switch n.Group {
	case needs.GroupAsks:
		record, err := runs.Interaction(ctx, c.Workspace(), n.ProjectID, n.RunID, n.Ref())
		if err != nil {
			return err
		}
		proof.Interaction = &record
	case needs.GroupHelp:
		h, err := governance.Help(c.Workspace(), n.Ref())
		if err != nil {
			return err
		}
		proof.Help = helpResult(h)
	case needs.GroupArtifact:
		if err := c.artifactProof(ctx, n.Kind, item, proof); err != nil {
			return err
		}
	}
	if n.Kind == needs.BrokenLog {
		return c.logProof(n, proof)
	}
	if proof.Failure != nil {
		c.failureProof(n, proof.Failure)
	}
	if n.RunID != "" && n.Kind != needs.Memory && n.Kind != needs.Action {
		c.runProof(ctx, n, proof)
	}
	return nil
}

func (c Operations) artifactProof(ctx context.Context, kind string, item governance.Item, proof *NeedProof) error {
	switch kind {
	case needs.Memory:
		preview, err := c.PreviewDelta(ctx, ItemParams{ProjectID: item.ProjectID, ArtifactID: item.ArtifactID})
		if err == nil {
			proof.Delta = &preview
			return nil
		} // malformed deltas can still be denied
	case needs.Files:
		s, err := c.proposals()
		if err != nil {
			return err
		}
		listing, err := s.PreviewPending(ctx, item)
		if err == nil {
			proof.Files = &listing
			return nil
		}
	case needs.Milestone:
		if evidence, err := governance.ReportEvidence(c.Workspace(), item, true); err == nil {
			proof.Evidence = &evidence
		} // malformed reports can still be denied
	}
	record, err := governance.ReadArtifact(c.Workspace(), item.ProjectID, item.ArtifactID)
	if err != nil {
		return err
	}
	proof.Artifact = &ProofArtifact{Frontmatter: record.Fields, Markdown: strings.TrimSpace(string(record.Body))}
	return nil
}

// failureProof adds what the record of the run contains about its failure.
func (c Operations) failureProof(n needs.Need, proof *ProofFailure) {
	if run, err := runs.Load(c.Workspace(), n.ProjectID, n.RunID); err == nil { // else keep the session's
		proof.Error, proof.ErrorKind = cmp.Or(run.Error, proof.Error), cmp.Or(run.ErrorKind, proof.ErrorKind)
	}
	proof.Error = redact.NewRedactor(nil).Text(proof.Error)
}

// logProof verifies the log of a run.
func (c Operations) logProof(n needs.Need, proof *NeedProof) error {
	replay, err := runs.ReadLog(c.Workspace(), n.ProjectID, n.RunID, runs.ModeVerified, 1)
	if err != nil {
		return err
	}
	proof.Log = &ProofLog{
		ParseIssues:        replay.ParseIssues[:min(len(replay.ParseIssues), proofFaults)],
		VerificationIssues: replay.VerificationIssues[:min(len(replay.VerificationIssues), proofFaults)],
	}
	return nil
}

// runProof adds the end of a run's transcript, and how much the run changed. It leaves out what
// it cannot read.
func (c Operations) runProof(ctx context.Context, n needs.Need, proof *NeedProof) {
	if !workspace.SafeID(n.ProjectID) || !workspace.SafeID(n.RunID) || !governance.RunExists(c.Workspace(), n.ProjectID, n.RunID) {
		return
	}
	_ = c.Host().Logs().Transcript(ctx, c.Workspace(), n.ProjectID, n.RunID, nil, func(f *transcript.Fold) {
		proof.Items = f.Page(transcript.Query{Tail: proofItems}).Items
	})
	if n.Group == needs.GroupAsks {
		return // its worktree still changes
	}
	changed, err := c.Changes(ctx, ChangesParams{ProjectID: n.ProjectID, RunID: n.RunID, Context: 3, Form: "rows", Mask: true})
	if err == nil && changed.ChangeRows != nil {
		proof.Changes = &changed.Totals
	}
}

// howSettled returns the error for a need that is not open: fault.Settled with what is known of
// its end, or fault.NotFound if it never existed.
func (c Operations) howSettled(m *snapshot.View, id string) error {
	kind, ref, _ := strings.Cut(id, ":")
	switch {
	case kind == "interaction":
		over, err := m.Interactions(snapshot.InteractionQuery{State: snapshot.InteractionsResolved, Limit: math.MaxInt32})
		if err != nil {
			return err
		}
		for _, r := range over.Interactions {
			if r.InteractionID == ref {
				return settled(id, Settled{How: r.State, By: r.By, At: r.ResolvedAt})
			}
		}
	case kind == needs.Help:
		if h, err := governance.Help(c.Workspace(), ref); err == nil && h.Answered {
			return settled(id, Settled{How: "answered"})
		}
	case !needs.Dismissible(id):
		decided, err := m.DecisionOn(ref)
		if err != nil {
			return err
		}
		if decided != nil {
			return settled(id, Settled{How: decided.Decision, By: decided.ActorID, At: decided.CreatedAt})
		}
	default:
		run, _, _ := strings.Cut(ref, ":")
		if keys, err := m.RunsNamed(run); err != nil || len(keys) > 0 {
			if err != nil {
				return err
			}
			return settled(id, Settled{How: "settled"})
		}
	}
	return fault.New(fault.NotFound, "there is no need %s", id)
}
