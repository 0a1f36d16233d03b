package governance

// Milestones: the report that somebody did one, and the decision on it.

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// ReportSpec is what a milestone report is made of.
type ReportSpec struct {
	ArtifactSpec // Type is set

	TaskID      string
	MilestoneID string
	Summary     string // in Markdown; the template of one when empty
	Evidence    []string
	Tests       []string
}

// NewMilestoneReport writes a report that a milestone is done and returns its
// artifact id. Project, task and milestone must exist: fault.NotFound else.
func NewMilestoneReport(ctx context.Context, w *workspace.Workspace, project string, spec ReportSpec) (id string, err error) {
	spec.Type = "milestone_report"
	if err := doc.CheckTitle(spec.Title); err != nil {
		return "", err
	}
	report := doc.MilestoneReport{
		Artifact: spec.Head(w.Env), ProjectID: project, TaskID: spec.TaskID, MilestoneID: spec.MilestoneID,
		EvidenceArtifacts: append([]string{}, spec.Evidence...), TestsArtifacts: spec.Tests,
	}
	var body bytes.Buffer
	body.WriteString("# " + report.Title + "\n\n## Summary\n")
	if spec.Summary != "" {
		body.WriteString("\n" + strings.TrimSpace(spec.Summary) + "\n")
	}
	body.WriteString("\n## Evidence\n")
	for i, evidence := range slices.Concat(spec.Evidence, spec.Tests) {
		if i == 0 {
			body.WriteString("\n")
		}
		body.WriteString("- " + evidence + "\n")
	}
	body.WriteString("\n## Next\n")
	text, err := WriteRecord(doc.MilestoneReportCodec, report, body.Bytes())
	if err != nil {
		return "", err
	}
	if _, _, err := workspace.DecodeHead(doc.MilestoneReportCodec, "the report", text); err != nil {
		return "", err
	}
	return report.ID, w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		task, err := u.Task(project, spec.TaskID)
		if err == nil {
			_, err = pm.MilestoneOf(&task, spec.MilestoneID)
		}
		if err != nil {
			return err
		}
		return CreateArtifact(u, project, report.ID, text)
	})
}

// Resolution is the outcome of a decision. What stands behind ArtifactID is of
// milestones only, and left out where it cannot be known.
type Resolution struct {
	ReviewID        string `json:"review_id"`
	Decision        string `json:"decision"`
	SubjectKind     string `json:"subject_kind"`
	ProjectID       string `json:"project_id"`
	ArtifactID      string `json:"artifact_id"`
	TaskID          string `json:"task_id,omitempty"`
	MilestoneID     string `json:"milestone_id,omitempty"`
	TaskStatus      string `json:"task_status,omitempty"`
	MilestoneStatus string `json:"milestone_status,omitempty"`
	// CheckpointID is of files that were applied.
	CheckpointID string `json:"checkpoint_id,omitempty"`
}

// Resolution is the outcome of a ruling, without what its kind adds.
func (r Ruling) Resolution(kind string) Resolution {
	return Resolution{Decision: r.Decision, SubjectKind: kind, ProjectID: r.ProjectID, ArtifactID: r.ArtifactID}
}

// MilestoneRuling is an approval of a milestone by its report. Without task and
// milestone those of the report are meant.
type MilestoneRuling struct {
	Ruling

	TaskID, MilestoneID string
}

// ApproveMilestone approves a milestone on the strength of its report: the task
// is written with the milestone done, then the review. It is one unit; what is
// refused leaves the task as it was. Refusals are fault.NotFound,
// fault.InvalidFile, fault.Conflict or fault.Denied.
func ApproveMilestone(ctx context.Context, w *workspace.Workspace, r MilestoneRuling) (resolved Resolution, err error) {
	r.Decision = Approved
	resolved = r.Resolution(KindMilestone)
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		if _, err := w.Project(r.ProjectID); err != nil {
			return err
		}
		if err := g.named(&r); err != nil {
			return err
		}
		task, err := g.Task(r.ProjectID, r.TaskID)
		if err != nil {
			return err
		}
		milestone, err := pm.MilestoneOf(&task, r.MilestoneID)
		if err != nil {
			return err
		}
		if err := undone(*milestone); err != nil {
			return err
		}
		report, err := g.report(r)
		if err != nil {
			return err
		}
		verdict, err := g.Enforce(r.ProjectID, reportQuestion(r.Ruling, report.Visibility, task.TeamID, report.RunID))
		if err != nil {
			return err
		}
		if _, err := g.CheckUndecided(r.Ruling, KindMilestone); err != nil {
			return err
		}
		if err := proven(w, r.ProjectID, *milestone, report); err != nil {
			return err
		}
		if err := pm.SetMilestoneStatus(&task, milestone.ID, pm.StatusDone); err != nil {
			return err
		}
		if err := g.PutTask(r.ProjectID, task); err != nil {
			return err
		}
		resolved.TaskID, resolved.MilestoneID, resolved.TaskStatus, resolved.MilestoneStatus = task.ID, milestone.ID, task.Status, milestone.Status
		resolved.ReviewID, err = g.Review(r.Ruling, verdict, DecisionResult{
			SubjectKind: KindMilestone, TaskID: task.ID, MilestoneID: milestone.ID, ReportArtifactID: r.ArtifactID,
		})
		return err
	})
	return resolved, err
}

// named fills task and milestone in from the report where they were not asked
// for.
func (g *PolicyUnit) named(r *MilestoneRuling) error {
	if r.TaskID != "" {
		return nil
	}
	record, err := ReadArtifact(g, r.ProjectID, r.ArtifactID)
	if err != nil {
		return err
	}
	report, err := DecodeItem(record, doc.MilestoneReportCodec)
	if err == nil {
		err = record.InProject(r.ProjectID)
	}
	if err != nil {
		return err
	}
	if !workspace.SafeID(report.TaskID) {
		return fault.New(fault.InvalidFile, "%s: %q cannot name a task", record.Name, report.TaskID)
	}
	r.TaskID, r.MilestoneID = report.TaskID, report.MilestoneID
	return nil
}

// report reads the report of a ruling and holds it to what was asked for.
func (g *PolicyUnit) report(r MilestoneRuling) (doc.MilestoneReport, error) {
	record, err := ReadArtifact(g, r.ProjectID, r.ArtifactID)
	if err != nil {
		return doc.MilestoneReport{}, err
	}
	report, err := DecodeItem(record, doc.MilestoneReportCodec)
	if err != nil {
		return report, err
	}
	if err := record.InProject(r.ProjectID); err != nil {
		return report, err
	}
	if report.TaskID != r.TaskID {
		return report, fault.New(fault.Conflict, "%s reports on task %s, not on %s", record.Name, report.TaskID, r.TaskID)
	}
	if report.MilestoneID != r.MilestoneID {
		return report, fault.New(fault.Conflict, "%s reports on milestone %s, not on %s", record.Name, report.MilestoneID, r.MilestoneID)
	}
	return report, nil
}

func reportQuestion(r Ruling, visibility, team, run string) policy.Question {
	resource := policy.Resource{ID: r.ArtifactID, Kind: "milestone_report", Visibility: visibility, Team: team}
	return policy.Question{Action: policy.Approve, Resource: resource, Actor: r.Actor, RunID: run}
}

// undone refuses a milestone that is done.
func undone(milestone doc.Milestone) error {
	if milestone.Status == pm.StatusDone {
		return fault.New(fault.Conflict, "milestone %s is done already", milestone.ID)
	}
	return nil
}

// requiredOf is the evidence that a milestone asks for.
func requiredOf(milestone doc.Milestone) doc.EvidenceRequired {
	if milestone.Evidence != nil {
		return *milestone.Evidence
	}
	return *pm.EvidenceOf(milestone.Kind)
}

// proven looks for the evidence that a milestone asks for.
func proven(w *workspace.Workspace, project string, milestone doc.Milestone, report doc.MilestoneReport) error {
	required := requiredOf(milestone)
	if required.RequiresPatch && !anyEvidence(w, project, report.EvidenceArtifacts, ".patch") {
		return fault.New(fault.Conflict, "milestone %s requires a patch: none of the evidence_artifacts of %s has a .patch file that is not empty", milestone.ID, report.ID)
	}
	if required.RequiresTests && !anyEvidence(w, project, report.TestsArtifacts, ".txt", ".json") {
		return fault.New(fault.Conflict, "milestone %s requires tests: none of the tests_artifacts of %s has a .txt or .json file that is not empty", milestone.ID, report.ID)
	}
	return nil
}

// anyEvidence reports whether one of the ids has a file of substance. Nothing is
// opened: a FIFO, say, could hang its reader.
func anyEvidence(w *workspace.Workspace, project string, ids []string, extensions ...string) bool {
	for _, id := range ids {
		if !workspace.SafeID(id) {
			continue
		}
		for _, extension := range extensions {
			st, err := w.FS.Stat(path.Join(workspace.ArtifactsDir(project), id+extension))
			if err == nil && st.Mode().IsRegular() && st.Size() > 0 {
				return true
			}
		}
	}
	return false
}

// DenyMilestone denies a report. The task stays as it is, and neither it nor the
// report has to fit: what cannot be read is left out.
func DenyMilestone(ctx context.Context, w *workspace.Workspace, r Ruling) (resolved Resolution, err error) {
	r.Decision = Denied
	resolved = r.Resolution(KindMilestone)
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		record, base, err := g.deniable(r)
		if err != nil {
			return err
		}
		resolved.TaskID, resolved.MilestoneID = safe(record.String("task_id")), safe(record.String("milestone_id"))
		team := ""
		if resolved.TaskID != "" {
			if task, err := g.Task(r.ProjectID, resolved.TaskID); err == nil {
				team, resolved.TaskStatus = task.TeamID, task.Status
				if milestone, err := pm.MilestoneOf(&task, resolved.MilestoneID); err == nil {
					resolved.MilestoneStatus = milestone.Status
				}
			}
		}
		verdict, err := g.Enforce(r.ProjectID, reportQuestion(r, base.Visibility, team, base.RunID))
		if err != nil {
			return err
		}
		resolved.ReviewID, err = g.deny(r, verdict, DecisionResult{
			SubjectKind: KindMilestone, TaskID: resolved.TaskID, MilestoneID: resolved.MilestoneID, ReportArtifactID: r.ArtifactID,
		})
		return err
	})
	return resolved, err
}

// safe is an id from a file, "" when it names nothing.
func safe(id string) string {
	if !workspace.SafeID(id) {
		return ""
	}
	return id
}

// deniable reads an item that may be denied: one with its id, a visibility and,
// where it names a project, this one. The rest need not fit: an item that could
// not be denied would stay in the inbox for ever.
func (g *PolicyUnit) deniable(r Ruling) (Record, Base, error) {
	if _, err := g.Workspace().Project(r.ProjectID); err != nil {
		return Record{}, Base{}, err
	}
	record, err := ReadArtifact(g, r.ProjectID, r.ArtifactID)
	if err != nil {
		return record, Base{}, err
	}
	base, err := record.Base(r.ProjectID)
	return record, base, err
}

// deny writes the review of a denial, or returns that of the first one.
func (g *PolicyUnit) deny(r Ruling, verdict policy.Verdict, about DecisionResult) (review string, err error) {
	standing, err := g.CheckUndecided(r, about.SubjectKind)
	if err != nil || standing != "" {
		return standing, err
	}
	return g.Review(r, verdict, about)
}
