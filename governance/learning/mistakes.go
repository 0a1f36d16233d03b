package learning

// Mistakes: counting them, and promoting a recurring one to a rule in the guidance.

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Mistake is a mistake of an agent, and who observed it.
type Mistake struct {
	Worker           string // agent id
	Manager          policy.Actor
	Key              string
	Summary          string
	PreventionRule   string
	ProjectID        string
	RunID            string // if the run exists, its log records the event
	TaskID           string
	MilestoneID      string
	Evidence         []string
	PromoteThreshold int64 // 0 for no promotion
}

// MistakeResult is the outcome of recording a mistake.
type MistakeResult struct {
	WorkerAgentID   string `json:"worker_agent_id"`
	MistakeKey      string `json:"mistake_key"`
	Count           int64  `json:"count"`
	Promoted        bool   `json:"promoted_to_agents_md"`
	LogRelpath      string `json:"log_relpath"`
	AgentsMDRelpath string `json:"agents_md_relpath"`
}

// maxKey bounds the key of a mistake, in characters.
const maxKey = 200

// CheckMistakeKey returns why a text cannot be the key of a mistake, "" if it can.
func CheckMistakeKey(key string) string {
	switch {
	case utf8.RuneCountInString(key) > maxKey:
		return "must have at most 200 characters"
	case strings.Contains(key, "-->"):
		return "must not contain -->"
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "must not contain line breaks or control characters"
	}
	return ""
}

// check rejects what cannot be recorded.
func (m Mistake) check(w *workspace.Workspace) error {
	manager, err := policy.Effective(w, m.Manager)
	if err != nil {
		return err
	}
	if manager.Role == roleWorker {
		return fault.New(fault.Denied, "a worker cannot record mistakes: the role must be human, ceo, director or manager")
	}
	for _, text := range []struct{ name, value string }{
		{"mistake_key", m.Key}, {"summary", m.Summary}, {"prevention_rule", m.PreventionRule},
	} {
		if strings.TrimSpace(text.value) == "" {
			return fault.New(fault.Blank, "%s must not be blank", text.name)
		}
	}
	return nil
}

const roleWorker = "worker"

// RecordMistake counts a mistake of an agent, creates missing guidance, and adds the rule to it
// once the mistake has been seen often enough. The mistake log, the guidance and the events are
// written in one unit, which is durable on return. Each call counts.
func RecordMistake(ctx context.Context, w *workspace.Workspace, m Mistake) (result MistakeResult, err error) {
	if err := m.check(w); err != nil {
		return result, err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		result, err = recordIn(u, m)
		return err
	})
	return result, err
}

// recordIn is RecordMistake inside a unit.
func recordIn(u *workspace.Unit, m Mistake) (MistakeResult, error) {
	w := u.Workspace()
	result := MistakeResult{
		WorkerAgentID: m.Worker, MistakeKey: m.Key,
		LogRelpath: workspace.MistakesFile(m.Worker), AgentsMDRelpath: workspace.GuidanceFile(m.Worker),
	}
	if err := requireAgent(w, m.Worker); err != nil {
		return result, err
	}
	now := w.Env.Clock.Now()
	var err error
	if result.Count, err = countIn(u, m, clock.Stamp(now)); err != nil {
		return result, err
	}
	guidance, missing, err := guidanceIn(u, m.Worker)
	if err != nil {
		return result, err
	}
	text := guidance
	if m.PromoteThreshold > 0 && result.Count >= m.PromoteThreshold && !hasRule(guidance, m.Key) {
		text = withRule(guidance, ruleLine(m.Key, m.PreventionRule, result.Count))
		result.Promoted = true
	}
	if missing || result.Promoted {
		if err := u.Write(result.AgentsMDRelpath, text, 0o644); err != nil {
			return result, err
		}
	}
	return result, tellMistake(u, m, result)
}

// countIn counts a mistake in the mistake log of the agent.
func countIn(u *workspace.Unit, m Mistake, now string) (count int64, err error) {
	file := workspace.MistakesFile(m.Worker)
	log := doc.MistakeLog{SchemaVersion: doc.Version, Type: "agent_mistake_log", AgentID: m.Worker}
	text, err := u.Read(file)
	switch {
	case fault.Is(err, fault.NotFound):
	case err != nil:
		return 0, err
	case len(strings.TrimSpace(string(text))) > 0:
		if log, err = workspace.Decode(doc.MistakeLogCodec, file, text); err != nil {
			return 0, err
		}
	}
	evidence := m.Evidence
	if evidence == nil {
		evidence = []string{}
	}
	count, err = log.Observe(doc.Mistake{Key: m.Key, Summary: m.Summary, PreventionRule: m.PreventionRule, Observation: doc.MistakeObservation{
		At: now, ObservedBy: m.Manager.ID, ProjectID: m.ProjectID, RunID: m.RunID, TaskID: m.TaskID, MilestoneID: m.MilestoneID,
		EvidenceArtifactIDs: evidence,
	}})
	if err != nil {
		return 0, fault.New(fault.InvalidFile, "%s: the entry of %s: %w", file, m.Key, err)
	}
	log.UpdatedAt = now
	return count, workspace.Put(u, doc.MistakeLogCodec, file, log, 0o644)
}

// guidanceIn returns the guidance of an agent, or the initial text if it is missing.
func guidanceIn(u *workspace.Unit, agent string) (guidance []byte, missing bool, err error) {
	guidance, err = u.Read(workspace.GuidanceFile(agent))
	if fault.Is(err, fault.NotFound) {
		return doc.NewGuidance(agent), true, nil
	}
	return guidance, false, err
}

// requireAgent returns an error if an agent does not exist or cannot be read.
func requireAgent(w *workspace.Workspace, id string) error {
	_, err := w.Agent(id)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "agent %s does not exist", id)
	}
	return err
}

// recordedPayload is the payload of evaluation.mistake_recorded.
type recordedPayload struct {
	WorkerAgentID string   `json:"worker_agent_id"`
	MistakeKey    string   `json:"mistake_key"`
	Count         int64    `json:"count"`
	Threshold     int64    `json:"threshold"`
	TaskID        *string  `json:"task_id"`
	MilestoneID   *string  `json:"milestone_id"`
	Evidence      []string `json:"evidence_artifact_ids"`
}

// promotedPayload is the payload of evaluation.rule_promoted.
type promotedPayload struct {
	WorkerAgentID string `json:"worker_agent_id"`
	MistakeKey    string `json:"mistake_key"`
	PromotedTo    string `json:"promoted_to"`
	Count         int64  `json:"count"`
}

// tellMistake records the mistake in the log of its run, if the run exists.
func tellMistake(u *workspace.Unit, m Mistake, result MistakeResult) error {
	w := u.Workspace()
	if m.ProjectID == "" || m.RunID == "" || !governance.RunExists(w, m.ProjectID, m.RunID) {
		return nil
	}
	evidence := m.Evidence
	if evidence == nil {
		evidence = []string{}
	}
	recorded, err := draftOf(w, m.RunID, m.Manager.ID, events.MistakeRecorded, recordedPayload{
		m.Worker, m.Key, result.Count, m.PromoteThreshold, orNull(m.TaskID), orNull(m.MilestoneID), evidence,
	})
	if err != nil {
		return err
	}
	drafts := []events.Draft{recorded}
	if result.Promoted {
		promoted, err := draftOf(w, m.RunID, m.Manager.ID, events.RulePromoted, promotedPayload{
			m.Worker, m.Key, result.AgentsMDRelpath, result.Count,
		})
		if err != nil {
			return err
		}
		drafts = append(drafts, promoted)
	}
	u.AppendBestEffort(workspace.LogFile(m.ProjectID, m.RunID), drafts...)
	return nil
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// draftOf returns an event of this package for a run.
func draftOf(w *workspace.Workspace, run, actor, kind string, payload any) (events.Draft, error) {
	return w.Events.Draft(events.Draft{
		RunID: run, SessionRef: "local_" + run, Actor: actor, Visibility: events.VisibilityManagers, Type: kind,
	}, payload)
}
