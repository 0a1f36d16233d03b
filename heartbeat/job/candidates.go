package job

// Memory candidates: results of a job that may be worth remembering. ac proposes none of them; a
// person or an agent may turn one into a memory delta.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// CandidateRequest selects a job, by its id or by one of its runs.
type CandidateRequest struct {
	ProjectID string
	JobID     string
	RunID     string
	Actor     policy.Actor // as claimed
	Limit     int
}

// DefaultCandidates bounds the candidates of a job with a planned context.
const DefaultCandidates = 20

// Candidate is a suggestion for memory.
type Candidate struct {
	ScopeKind   string   `json:"scope_kind"`
	ScopeRef    string   `json:"scope_ref"`
	Sensitivity string   `json:"sensitivity"`
	Title       string   `json:"title"`
	InsertLines []string `json:"insert_lines"`
	Rationale   string   `json:"rationale"`
	Evidence    []string `json:"evidence"`
	Confidence  float64  `json:"confidence"`
}

// CandidateReport holds the candidates of a job and the path of the file with them.
type CandidateReport struct {
	Relpath    string      `json:"report_relpath"`
	Count      int         `json:"count"`
	Blocked    int         `json:"blocked_secret_count"`
	Candidates []Candidate `json:"candidates"`
}

// candidateDocument is memory_candidates.json.
type candidateDocument struct {
	SchemaVersion int            `json:"schema_version"`
	Type          string         `json:"type"`
	GeneratedAt   string         `json:"generated_at"`
	ProjectID     string         `json:"project_id"`
	JobID         string         `json:"job_id"`
	RunID         string         `json:"run_id"`
	ActorID       string         `json:"actor_id"`
	ActorRole     string         `json:"actor_role"`
	ActorTeamID   string         `json:"actor_team_id,omitempty"`
	Blocked       int            `json:"blocked_secret_count"`
	BlockedByKind redact.Matches `json:"blocked_matches_by_kind"`
	Count         int            `json:"count"`
	Candidates    []Candidate    `json:"candidates"`
}

// candidatesPayload is the payload of memory.candidates.generated.
type candidatesPayload struct {
	JobID   string `json:"job_id"`
	Relpath string `json:"report_relpath"`
	Count   int    `json:"candidate_count"`
	Blocked int    `json:"blocked_secret_count"`
}

// Candidates finds memory candidates in the results of a job, writes a report
// into the outputs of the run and records the event. Both are durable on
// return. Workers are refused.
func Candidates(ctx context.Context, w *workspace.Workspace, r CandidateRequest) (report CandidateReport, err error) {
	if _, err := w.Project(r.ProjectID); err != nil {
		return report, err
	}
	record, attempt, err := r.find(w)
	if err != nil {
		return report, err
	}
	err = governance.Govern(ctx, w, func(g *governance.PolicyUnit) error {
		resource := policy.Resource{ID: attempt.RunID, Kind: "memory_candidates", Visibility: events.VisibilityManagers}
		verdict, err := g.Enforce(r.ProjectID, policy.Question{Action: policy.Read, Actor: r.Actor, RunID: attempt.RunID, Resource: resource})
		if err != nil {
			return err
		}
		found := candidatesOf(w, record, attempt)
		kept, blocked, kinds := withoutSecrets(found, r.Limit)
		report = CandidateReport{
			Relpath: path.Join(workspace.RunDir(r.ProjectID, attempt.RunID), "outputs", "memory_candidates.json"),
			Count:   len(kept), Blocked: blocked, Candidates: kept,
		}
		text, err := indented(candidateDocument{
			SchemaVersion: doc.Version, Type: "memory_candidate_report", GeneratedAt: clock.Stamp(w.Env.Clock.Now()), ProjectID: r.ProjectID,
			JobID: record.Job.JobID, RunID: attempt.RunID, ActorID: verdict.Actor.ID, ActorRole: verdict.Actor.Role, ActorTeamID: verdict.Actor.Team,
			Blocked: blocked, BlockedByKind: kinds, Count: len(kept), Candidates: kept,
		})
		if err != nil {
			return err
		}
		if err := g.Write(report.Relpath, text, 0o644); err != nil {
			return err
		}
		draft := events.Draft{Type: events.CandidatesFound, Actor: verdict.Actor.ID}
		return g.Emit(r.ProjectID, attempt.RunID, draft, candidatesPayload{record.Job.JobID, report.Relpath, report.Count, report.Blocked})
	})
	return report, err
}

// find finds the job and its attempt. The run must exist and belong to the job.
func (r CandidateRequest) find(w *workspace.Workspace) (record doc.Job, attempt doc.JobAttempt, err error) {
	if r.JobID != "" {
		record, err = jobRef{r.ProjectID, r.JobID}.load(w)
	} else {
		record, err = jobOfRun(w, r.ProjectID, r.RunID)
	}
	if err != nil {
		return record, attempt, err
	}
	if r.RunID == "" {
		last := record.Last()
		if last == nil {
			return record, attempt, fault.New(fault.NotFound, "job %s has no attempt yet", record.Job.JobID)
		}
		r.RunID = last.RunID
	}
	at := slices.IndexFunc(record.Attempts, func(a doc.JobAttempt) bool { return a.RunID == r.RunID })
	if at < 0 || !workspace.SafeID(r.RunID) || !w.Exists(workspace.RunFile(r.ProjectID, r.RunID)) {
		return record, attempt, fault.New(fault.NotFound, "run %s is no attempt of job %s", r.RunID, record.Job.JobID)
	}
	return record, record.Attempts[at], nil
}

// jobOfRun returns the first job, by id, with an attempt of a run.
func jobOfRun(w *workspace.Workspace, project, run string) (doc.Job, error) {
	all, err := All(w, project)
	if err != nil {
		return doc.Job{}, err
	}
	slices.SortFunc(all, func(a, b doc.Job) int { return strings.Compare(a.Job.JobID, b.Job.JobID) })
	for _, record := range all {
		if slices.ContainsFunc(record.Attempts, func(a doc.JobAttempt) bool { return a.RunID == run }) {
			return record, nil
		}
	}
	return doc.Job{}, fault.New(fault.NotFound, "no job of project %s has an attempt with the run %s", project, run)
}

// candidatesOf derives the candidates from the result and the digest of a job. Unreadable files
// yield none.
func candidatesOf(w *workspace.Workspace, record doc.Job, attempt doc.JobAttempt) (found []Candidate) {
	p := jobRef{record.Job.ProjectID, record.Job.JobID}
	spec := record.Job
	result, err := stored(w, p.result(), bindResult)
	evidence := []string{"run:" + attempt.RunID, "job:" + spec.JobID}
	add := func(scope, ref, title, rationale string, confidence float64, lines ...string) {
		for i := range lines {
			lines[i] = cutLine("- " + lines[i])
		}
		found = append(found, Candidate{
			ScopeKind: scope, ScopeRef: ref, Sensitivity: doc.SensitivityInternal, Title: cutLine(title), InsertLines: lines,
			Rationale: cutLine(rationale), Evidence: evidence, Confidence: confidence,
		})
	}
	if err == nil && result != nil {
		for _, a := range result.Artifacts {
			if a.ArtifactID != "" && !slices.Contains(evidence, a.ArtifactID) {
				evidence = append(evidence, a.ArtifactID)
			}
		}
		confidence := 0.58
		if result.Status == doc.ResultSucceeded {
			confidence = 0.72
		}
		add(doc.ScopeProject, spec.ProjectID, "Run insight ("+result.Status+")",
			fmt.Sprintf("Job %s with the goal %q ended as %s.", spec.JobID, spec.Goal, result.Status), confidence, result.Summary,
			fmt.Sprintf("files_changed=%d, commands_run=%d, errors=%d", len(result.FilesChanged), len(result.CommandsRun), len(result.Errors)))
		if len(result.FilesChanged) > 0 {
			paths := make([]string, min(5, len(result.FilesChanged)))
			for i := range paths {
				paths[i] = result.FilesChanged[i].Path
			}
			add(doc.ScopeProject, spec.ProjectID, "Frequently touched paths", "Job "+spec.JobID+" changed these files.", 0.63,
				"Recent run touched: "+strings.Join(paths, ", "))
		}
		worker := spec.WorkerAgentID
		if worker == "" {
			worker = attempt.WorkerAgentID
		}
		if len(result.Errors) > 0 && workspace.SafeID(worker) {
			first := result.Errors[0]
			add(doc.ScopeAgent, worker, "Avoid repeat error: "+first.Code,
				fmt.Sprintf("Run %s of job %s reported the error %s.", attempt.RunID, spec.JobID, first.Code), 0.6, first.Message)
		}
	}
	if signals, err := stored(w, p.digest(), bindSignals); err == nil && signals != nil {
		if line := signalLine(*signals); line != "" {
			add(doc.ScopeProject, spec.ProjectID, "Manager signal summary", "The digest of job "+spec.JobID+" carries these signals.", 0.54, line)
		}
	}
	return found
}

// maxSignals is the maximum number of a digest's signals in a candidate.
const maxSignals = 5

// bindSignals checks a digest and returns its signals unchanged, including those that only other
// programs know.
func bindSignals(digest *shape.Value) (shape.Value, error) {
	_, err := digestCodec.Bind(digest)
	return *digest.Get("signals"), err
}

// signalLine returns the first signals of a digest: strings unchanged, others as JSON.
func signalLine(signals shape.Value) string {
	parts := make([]string, min(maxSignals, len(signals.Keys)))
	for i := range parts {
		shown := signals.Items[i].Text
		if signals.Items[i].Kind != shape.String {
			text, _ := signals.Items[i].MarshalJSON() // never fails
			shown = string(text)
		}
		parts[i] = signals.Keys[i] + "=" + shown
	}
	return strings.Join(parts, ", ")
}

// maxLine bounds a line of a candidate, in characters.
const maxLine = 500

// cutLine puts a text on one line: it replaces line breaks by spaces and truncates to maxLine
// characters.
func cutLine(text string) string {
	text = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ").Replace(text)
	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine])
	}
	return text
}

// withoutSecrets returns the first limit candidates without apparent secrets. blocked counts those
// with secrets that it saw before it reached the limit.
func withoutSecrets(found []Candidate, limit int) (kept []Candidate, blocked int, kinds redact.Matches) {
	kept, kinds = []Candidate{}, redact.NoMatches()
	for _, c := range found {
		if len(kept) == limit {
			break
		}
		matches := redact.Find(strings.Join(append([]string{c.Title, c.Rationale, strings.Join(c.InsertLines, "\n")}, c.Evidence...), "\n"))
		if matches.Total() > 0 {
			blocked++
			kinds.Add(matches)
			continue
		}
		kept = append(kept, c)
	}
	return kept, blocked, kinds
}

// suggest looks for candidates after a job with a planned context. It is best effort.
func suggest(ctx context.Context, w *workspace.Workspace, record doc.Job) {
	if record.Job.ContextMode != doc.ContextAuto || record.Last() == nil {
		return
	}
	_, _ = Candidates(ctx, w, CandidateRequest{
		ProjectID: record.Job.ProjectID, JobID: record.Job.JobID, Limit: DefaultCandidates,
		Actor: policy.Actor{ID: record.Job.ManagerActorID, Role: record.Job.ManagerRole, Team: record.Job.ManagerTeamID},
	})
}
