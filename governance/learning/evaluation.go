package learning

// The outcome of an evaluation: a digest with the proposed rule, or a report of the failure, and
// the events that record it.

import (
	"fmt"
	"path"
	"strings"

	"ac/events"
	"ac/governance"
	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// evaluation is a finished evaluation.
type evaluation struct {
	Improvement
	run    runs.CreateResult
	record doc.Session
	argv   []string // masked
}

// passed reports whether the command ended by itself and succeeded.
func (e evaluation) passed() bool {
	r := e.record
	return r.Signal == nil && r.ExitCode != nil && *r.ExitCode == 0 && r.Error == "" && r.Status != doc.StatusStopped
}

// conclude writes the outcome of the evaluation. If the evaluation passed but the rule is in the
// guidance or proposed by now, it writes nothing.
func (e evaluation) conclude(u *workspace.Unit, result CycleResult) (CycleResult, error) {
	if e.passed() {
		now, err := existingCycle(u, e.Mistake, result)
		if err != nil || now.Status != "" {
			return now, err
		}
	}
	w := u.Workspace()
	kind := "failure_report"
	result.Status = EvaluationFailed
	if e.passed() {
		kind, result.Status = "manager_digest", ProposalCreated
	}
	head := governance.ArtifactSpec{
		Type: kind, Title: fmt.Sprintf("Self-improvement of %s: %s", doc.OneLine(e.Worker), e.Key), Visibility: events.VisibilityManagers,
		ProducedBy: e.Manager.ID, RunID: e.run.RunID, ContextPackID: e.run.ContextPackID,
	}.Head(w.Env)
	result.Evaluation = &Evaluation{
		RunID: e.run.RunID, ContextPackID: e.run.ContextPackID, ExitCode: e.record.ExitCode, Signal: e.record.Signal,
		ArtifactID: head.ID, ArtifactRelpath: governance.ArtifactFile(e.ProjectID, head.ID), ArtifactType: kind,
	}
	told := []artifactMade{{head, result.ArtifactRelpath}}
	delta := ""
	if e.passed() {
		made, err := e.propose(u, head, result.MistakeCount)
		if err != nil {
			return result, err
		}
		delta = made.ArtifactID
		result.ProposedRule = &ProposedRule{delta, made.ArtifactRelpath, made.PatchRelpath, made.TargetFile}
		proposed := head
		proposed.ID, proposed.Type = delta, governance.KindMemoryDelta
		told = append(told, artifactMade{proposed, made.ArtifactRelpath})
	}
	text, err := governance.WriteRecord(doc.ArtifactCodec, head, []byte(e.report(kind, result, delta)))
	if err == nil {
		err = governance.CreateArtifact(u, e.ProjectID, head.ID, text)
	}
	if err != nil {
		return result, err
	}
	return result, e.tell(u, result, told)
}

// propose proposes the rule for the guidance of the agent.
func (e evaluation) propose(u *workspace.Unit, digest doc.Artifact, count int64) (governance.DeltaProposal, error) {
	return governance.PutDelta(u, governance.DeltaSpec{
		ProjectID: e.ProjectID, Title: fmt.Sprintf("Guidance of %s: %s", doc.OneLine(e.Worker), e.Key), TargetFile: workspace.GuidanceFile(e.Worker),
		Under: doc.MistakesHeading, Lines: []string{ruleLine(e.Key, e.PreventionRule, count)}, AtEnd: true,
		Visibility: digest.Visibility, ProducedBy: digest.ProducedBy, RunID: digest.RunID, ContextPackID: digest.ContextPackID,
		Evidence: append([]string{digest.ID}, e.Evidence...),
	})
}

// report returns the body of a digest or a failure report.
func (e evaluation) report(kind string, result CycleResult, delta string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	verdict := "passed"
	if !e.passed() {
		verdict = fmt.Sprintf("failed (exit_code=%s, signal=%s)", word(e.record.ExitCode), word(e.record.Signal))
	}
	line("# Self-improvement of %s: %s\n\n## Summary\n", doc.OneLine(e.Worker), e.Key)
	line("- worker_agent_id: %s", doc.OneLine(e.Worker))
	line("- manager_actor_id: %s", doc.OneLine(e.Manager.ID))
	line("- mistake_key: %s", e.Key)
	line("- mistake_count: %d (threshold=%d)", result.MistakeCount, e.ProposalThreshold)
	line("- evaluation: %s", verdict)
	line("- run_id: %s", e.run.RunID)
	line("\n## Decisions\n")
	line("- summary: %s", doc.OneLine(e.Summary))
	line("- prevention_rule: %s", doc.OneLine(e.PreventionRule))
	line("- evaluation_argv: %s", listed(e.argv))
	line("- proposed_memory_delta_artifact_id: %s", orNone(delta))
	line("- evidence: %s", orNone(doc.OneLine(strings.Join(e.Evidence, ", "))))
	if kind == "manager_digest" {
		line("\n## Risks\n\nThe evaluation succeeded; whether the rule prevents the mistake shows once the memory delta is approved.")
		return b.String()
	}
	cause := "The evaluation did not succeed"
	switch {
	case e.record.Status == doc.StatusStopped:
		cause = "The evaluation was stopped"
	case e.record.ExitCode == nil && e.record.Signal == nil:
		cause = "The evaluation could not be started"
	}
	if e.record.Error != "" {
		cause += ": " + doc.OneLine(e.record.Error)
	}
	line("\n## Cause\n\n%s.", cause)
	line("\n## Next Steps\n")
	line("- Read what it printed: %s.", path.Join(workspace.RunDir(e.ProjectID, e.run.RunID), "outputs"))
	line("- Mend what it found, then run the cycle again. Nothing was proposed.")
	return b.String()
}

// word formats a value that may be unknown.
func word[T any](value *T) string {
	if value == nil {
		return "null"
	}
	return fmt.Sprint(*value)
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

func listed(words []string) string {
	text, err := canonjson.Marshal(words)
	if err != nil { // cannot happen: strings can always be encoded
		return orNone("")
	}
	return doc.OneLine(string(text))
}

// artifactMade is a new artifact with its file.
type artifactMade struct {
	head    doc.Artifact
	relpath string
}

// failedCyclePayload and proposedCyclePayload are the payloads of
// evaluation.self_improve_cycle.
type failedCyclePayload struct {
	cyclePayload
	ExitCode *int    `json:"evaluation_exit_code"`
	Signal   *string `json:"evaluation_signal"`
}

type proposedCyclePayload struct {
	cyclePayload
	DeltaID    string `json:"memory_delta_artifact_id"`
	TargetFile string `json:"target_file"`
}

type cyclePayload struct {
	Status            string `json:"status"`
	MistakeKey        string `json:"mistake_key"`
	MistakeCount      int64  `json:"mistake_count"`
	ProposalThreshold int64  `json:"proposal_threshold"`
	ArtifactID        string `json:"evaluation_artifact_id"`
}

// tell records the outcome in the log of the run.
func (e evaluation) tell(u *workspace.Unit, result CycleResult, made []artifactMade) error {
	w := u.Workspace()
	var drafts []events.Draft
	for _, artifact := range made {
		draft, err := governance.ArtifactProduced(w, artifact.head, artifact.relpath)
		if err != nil {
			return err
		}
		drafts = append(drafts, draft)
	}
	shared := cyclePayload{result.Status, e.Key, result.MistakeCount, e.ProposalThreshold, result.ArtifactID}
	var payload any = failedCyclePayload{shared, result.ExitCode, result.Signal}
	if result.ProposedRule != nil {
		payload = proposedCyclePayload{shared, result.DeltaID, result.TargetFile}
	}
	draft, err := draftOf(w, e.run.RunID, e.Manager.ID, events.ImproveCycle, payload)
	if err != nil {
		return err
	}
	u.AppendBestEffort(workspace.LogFile(e.ProjectID, e.run.RunID), append(drafts, draft)...)
	return nil
}

// ruleDelta is a pending memory delta that would add a rule to an agent's guidance.
type ruleDelta struct {
	project string
	head    doc.MemoryDelta
}

// pendingRule returns the pending delta that already proposes the rule of a mistake, nil for
// none. It searches the project of the mistake first.
func pendingRule(w *workspace.Workspace, m Mistake) (*ruleDelta, error) {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	for _, project := range append([]string{m.ProjectID}, projects...) {
		names, err := workspace.Files(w.FS, workspace.ArtifactsDir(project), ".md")
		if err != nil {
			return nil, err
		}
		deltas := workspace.ReadEach(names, func(name string) (doc.MemoryDelta, error) { return ruleDeltaIn(w, project, name, m) })
		for _, delta := range deltas {
			state, err := governance.StateOf(w, governance.Item{ProjectID: project, ArtifactID: delta.ID}, governance.KindMemoryDelta)
			if err != nil {
				return nil, err
			}
			if state.Pending() {
				return &ruleDelta{project, delta}, nil
			}
		}
	}
	return nil, nil
}

// ruleDeltaIn reads an artifact. An artifact that does not propose the rule is an error.
func ruleDeltaIn(w *workspace.Workspace, project, name string, m Mistake) (none doc.MemoryDelta, err error) {
	head, err := workspace.LoadHead(w, doc.ArtifactCodec, path.Join(workspace.ArtifactsDir(project), name))
	if err != nil {
		return none, err
	}
	other := fault.New(fault.NotFound, "%s proposes something else", name)
	if head.Type != governance.KindMemoryDelta || head.ID+".md" != name {
		return none, other
	}
	record, err := governance.ReadArtifact(w, project, head.ID)
	if err != nil {
		return none, err
	}
	delta, err := governance.DecodeItem(record, doc.MemoryDeltaCodec)
	if err != nil || delta.ProjectID != project || path.Clean(delta.TargetFile) != workspace.GuidanceFile(m.Worker) {
		return none, other
	}
	patch, err := w.Read(path.Clean(delta.PatchFile))
	if err != nil {
		return none, err
	}
	for line := range strings.Lines(string(patch)) {
		if strings.HasPrefix(line, "+") && hasRule([]byte(line), m.Key) {
			return delta, nil
		}
	}
	return none, other
}

// evaluated returns the evaluation behind a delta, which must have passed.
func (d *ruleDelta) evaluated() *Evaluation {
	e := &Evaluation{RunID: d.head.RunID, ContextPackID: d.head.ContextPackID, ExitCode: new(0), ArtifactType: "manager_digest"}
	if len(d.head.Evidence) > 0 {
		e.ArtifactID = d.head.Evidence[0]
		if workspace.SafeID(e.ArtifactID) {
			e.ArtifactRelpath = governance.ArtifactFile(d.project, e.ArtifactID)
		}
	}
	return e
}

func (d *ruleDelta) proposed() *ProposedRule {
	return &ProposedRule{d.head.ID, governance.ArtifactFile(d.project, d.head.ID), d.head.PatchFile, d.head.TargetFile}
}
