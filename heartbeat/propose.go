package heartbeat

// Proposals: actions that wait for a person's approval, stored as artifacts of their projects.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"ac/governance"
	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// proposalType is the artifact type of proposals.
const proposalType = "heartbeat_action_proposal"

// propose queues, in a unit, the proposal artifact for a worker's action. source is the attempt
// that proposed the action, why the rationale.
func propose(u *workspace.Unit, worker string, source doc.JobAttempt, action doc.Action, why string) error {
	env := u.Workspace().Env
	meant := meantBy(action)
	proposal := doc.HeartbeatProposal{
		Artifact: doc.Artifact{
			SchemaVersion: doc.Version, Type: proposalType, ID: env.IDs.New("art"), CreatedAt: clock.Stamp(env.Clock.Now()),
			Title: cmp.Or(action.Title, "Heartbeat approval: "+action.Kind), Visibility: "managers", ProducedBy: worker,
			RunID: source.RunID, ContextPackID: source.ContextPackID,
		},
		ProjectID: action.ProjectID, ProposedAction: meant, Rationale: why,
	}
	if action.Kind == doc.ActionCreateApproval && !strings.HasPrefix(why, hardStopMark) {
		proposal.Rationale = action.Rationale
	}
	body, err := proposalBody(proposal, worker, action)
	if err != nil {
		return err
	}
	text, err := governance.WriteRecord(doc.HeartbeatProposalCodec, proposal, body)
	if err != nil {
		return err
	}
	return governance.CreateArtifact(u, action.ProjectID, proposal.ID, text)
}

// meantBy returns the action that an approval carries out.
func meantBy(action doc.Action) doc.Action {
	switch {
	case action.Kind != doc.ActionCreateApproval:
		return action.WithDefaults()
	case action.ProposedAction != nil:
		return doc.Action{ActionBody: action.ProposedAction.WithDefaults()}
	}
	return doc.Action{ActionBody: NoopFor(action)}
}

// NoopFor returns the no-op that an approval carries out if no action was proposed.
func NoopFor(action doc.Action) doc.ActionBody {
	return doc.ActionBody{
		Kind: doc.ActionNoop, IdempotencyKey: action.IdempotencyKey + ":noop", Risk: "low",
		Reason: cmp.Or(action.Rationale, "Approved; there was nothing to do."),
	}
}

func proposalBody(proposal doc.HeartbeatProposal, worker string, action doc.Action) ([]byte, error) {
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(proposal.ProposedAction); err != nil {
		return nil, err
	}
	// A summary on one line cannot contain headings.
	summary := cmp.Or(strings.Join(strings.Fields(action.Summary), " "), fmt.Sprintf("%s asks for an action of kind %s.", worker, action.Kind))
	return fmt.Appendf(nil, "# %s\n\n## Summary\n\n%s\n\n## Proposed Action\n\n```json\n%s```\n\n## Policy\n\nA manager must approve this action before it is carried out.\n",
		proposal.Title, summary, quoted.Bytes()), nil
}
