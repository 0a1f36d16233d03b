package files

// Landings that wait for a human's approval, if their project requires it.

import (
	"context"
	"fmt"
	"strings"

	"ac/governance"
	"ac/internal/fault"
	"ac/runs/changes"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// pendingLanding is a waiting landing.
type pendingLanding struct {
	RunID   string `json:"run_id"`
	Message string `json:"message,omitempty"`
	Into    string `json:"into,omitempty"`
	Keep    bool   `json:"keep,omitempty"`
	// Tree is the proposed work. Only this tree is landed.
	Tree string `json:"tree"`
}

// propose stores the landing and requests a decision on it. Once it waits, propose returns
// fault.ApprovalRequired.
func (l *landing) propose(ctx context.Context) error {
	dry := l.o
	dry.DryRun = true
	try := &landing{s: l.s, o: dry, run: l.run}
	result, err := try.land(ctx)
	switch {
	case err != nil:
		return err
	case len(result.Conflicts) > 0:
		return fault.New(fault.Conflicts, "nothing was proposed: %s and the run changed the same lines of %s", result.Branch, quoted(result.Conflicts)).
			With(Conflicts{result.Conflicts, result.Branch})
	case result.Files == 0 || result.Already:
		return fault.New(fault.Conflict, "run %s has nothing to land on %s", l.o.RunID, result.Branch)
	}
	work, err := try.work(ctx)
	if err != nil {
		return gitFailed(err)
	}
	tree, err := try.repo.Tree(ctx, work)
	if err != nil {
		return gitFailed(err)
	}
	waits := pending{
		SchemaVersion: 1, Type: pendingType, Target: checkpoint.Target{RepoID: try.repoID}, Files: []pendingFile{},
		Landing:     &pendingLanding{RunID: l.o.RunID, Message: l.o.Message, Into: l.o.Into, Keep: l.o.Keep, Tree: tree},
		ContentHash: checkpoint.Hash([]byte(fmt.Sprintf("landing\x00%s\x00%s\x00%s", l.o.RunID, l.o.Into, tree))),
	}
	id := l.s.Workspace.Env.IDs.New("art")
	text, err := l.proposal(ctx, id, result)
	if err != nil {
		return err
	}
	return l.s.ask(ctx, id, text, waits, l.question(), l.o.ProjectID)
}

// proposal returns the text of the artifact that requests the decision.
func (l *landing) proposal(ctx context.Context, id string, result Landing) ([]byte, error) {
	head := doc.FilesProposal{
		Artifact: governance.ArtifactSpec{
			ID: id, Type: "proposal", Title: fmt.Sprintf("Land %d files of %s", result.Files, l.o.RunID), Visibility: "managers",
			ProducedBy: l.o.Actor.ID, RunID: l.o.RunID,
		}.Head(l.s.Workspace.Env),
		ProjectID: l.o.ProjectID, Proposes: doc.ProposesFiles,
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n## Summary\n\n%s asks to land the work of this run on %q as one commit (%d files +%d -%d).\n\n## Plan\n\n",
		head.Title, l.o.Actor.ID, result.Branch, result.Files, result.Added, result.Removed)
	err := l.open(ctx, func(set *changes.Set) error {
		for i, f := range set.Files {
			if i == MaxFiles {
				fmt.Fprintf(&text, "- %d more\n", len(set.Files)-MaxFiles)
				break
			}
			fmt.Fprintf(&text, "- %q\n", f.Path)
		}
		return nil
	})
	text.WriteString("\n## Risks\n\nThe files become a commit of the branch; git revert takes it back.\n")
	if err != nil {
		return nil, err
	}
	return governance.WriteRecord(doc.FilesProposalCodec, head, []byte(text.String()))
}

// resolveLanding decides on a waiting landing. An approval lands the run. If landing fails,
// nothing is decided.
func (s *Service) resolveLanding(ctx context.Context, r governance.Ruling, waits pendingLanding) (review string, err error) {
	l := &landing{
		s: s, ruling: &r, proposed: waits.Tree,
		o: LandOrder{ProjectID: r.ProjectID, RunID: waits.RunID, Message: waits.Message, Into: waits.Into, Keep: waits.Keep, Actor: r.Actor},
	}
	if r.Decision == governance.Denied {
		return s.deny(ctx, r, l.question())
	}
	if err := l.load(); err != nil {
		return "", err
	}
	err = governance.Govern(ctx, s.Workspace, func(g *governance.PolicyUnit) error {
		if _, err := g.Enforce(r.ProjectID, l.question()); err != nil {
			return err
		}
		_, err := g.CheckUndecided(r, governance.KindFiles)
		return err
	})
	if err != nil {
		return "", err
	}
	result, err := l.land(ctx)
	if err == nil && result.Commit == nil {
		err = fault.New(fault.Conflict, "run %s has nothing to land on %s any more", waits.RunID, result.Branch)
	}
	return l.review, err
}

// decide adds the review of a ruling to the unit.
func (l *landing) decide(g *governance.PolicyUnit) error {
	if l.ruling == nil {
		return nil
	}
	verdict, err := g.Enforce(l.o.ProjectID, l.question())
	if err == nil {
		_, err = g.CheckUndecided(*l.ruling, governance.KindFiles)
	}
	if err != nil {
		return err
	}
	l.review, err = g.Review(*l.ruling, verdict, governance.DecisionResult{SubjectKind: governance.KindFiles, ArtifactID: l.ruling.ArtifactID})
	return err
}
