package governance

// Milestones: the report that one is done, and the decision on it.

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

// ReportSpec describes a milestone report.
type ReportSpec struct {
	ArtifactSpec // Type is set automatically

	TaskID      string
	MilestoneID string
	Summary     string // Markdown, "" for an empty section
	Evidence    []string
	Tests       []string
}

// NewMilestoneReport writes a report that a milestone is done and returns its artifact id. If the
// project, task or milestone does not exist, the error is fault.NotFound.
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

// Resolution is the outcome of a decision. The task and milestone fields apply to milestones
// only, and are empty if unknown.
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
	// CheckpointID is the checkpoint of applied files.
	CheckpointID string `json:"checkpoint_id,omitempty"`
}

// Resolution returns the outcome of a ruling, without the fields of its kind.
func (r Ruling) Resolution(kind string) Resolution {
	return Resolution{Decision: r.Decision, SubjectKind: kind, ProjectID: r.ProjectID, ArtifactID: r.ArtifactID}
}

// MilestoneRuling is the approval of a milestone by its report. If TaskID is empty, the report's
// task and milestone are used.
type MilestoneRuling struct {
	Ruling

	TaskID, MilestoneID string
}

// ApproveMilestone approves a milestone by its report. In one unit, it writes the task with the
// milestone done, and then the review. On error the task is unchanged. Errors are fault.NotFound,
// fault.InvalidFile, fault.Conflict or fault.Denied.
func ApproveMilestone(ctx context.Context, w *workspace.Workspace, r MilestoneRuling) (resolved Resolution, err error) {
	r.Decision = Approved
	resolved = r.Resolution(KindMilestone)
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		if _, err := w.Project(r.ProjectID); err != nil {
			return err
		}
		if err := g.fillFromReport(&r); err != nil {
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
		if err := checkNotDone(*milestone); err != nil {
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
		if err := checkEvidence(w, r.ProjectID, *milestone, report); err != nil {
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

// fillFromReport sets the task and milestone of a ruling from the report if the ruling has none.
func (g *PolicyUnit) fillFromReport(r *MilestoneRuling) error {
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

// report reads the report of a ruling and checks that it is about the ruling's task and
// milestone.
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

// checkNotDone returns an error for a milestone that is done.
func checkNotDone(milestone doc.Milestone) error {
	if milestone.Status == pm.StatusDone {
		return fault.New(fault.Conflict, "milestone %s is done already", milestone.ID)
	}
	return nil
}

// requiredOf returns the evidence that a milestone requires.
func requiredOf(milestone doc.Milestone) doc.EvidenceRequired {
	if milestone.Evidence != nil {
		return *milestone.Evidence
	}
	return *pm.EvidenceOf(milestone.Kind)
}

// checkEvidence checks that the report has the evidence that a milestone requires.
func checkEvidence(w *workspace.Workspace, project string, milestone doc.Milestone, report doc.MilestoneReport) error {
	required := requiredOf(milestone)
	if required.RequiresPatch && !anyEvidence(w, project, report.EvidenceArtifacts, ".patch") {
		return fault.New(fault.Conflict, "milestone %s requires a patch: none of the evidence_artifacts of %s has a .patch file that is not empty", milestone.ID, report.ID)
	}
	if required.RequiresTests && !anyEvidence(w, project, report.TestsArtifacts, ".txt", ".json") {
		return fault.New(fault.Conflict, "milestone %s requires tests: none of the tests_artifacts of %s has a .txt or .json file that is not empty", milestone.ID, report.ID)
	}
	return nil
}

// anyEvidence reports whether one of the ids has a regular file that is not empty. It opens no
// file, because a FIFO could block the reader.
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

// DenyMilestone denies a report. The task does not change. Neither the task nor the report has to
// be valid: unreadable fields are left out.
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

// safe returns an id from a file, "" if it is not a safe id.
func safe(id string) string {
	if !workspace.SafeID(id) {
		return ""
	}
	return id
}

// deniable reads an item that can be denied: its id, its visibility and any project_id must be
// valid. The rest may be invalid, because an item that cannot be denied would stay in the inbox
// forever.
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

// deny writes a denying review. If the item was denied before, it returns the first denial.
func (g *PolicyUnit) deny(r Ruling, verdict policy.Verdict, about DecisionResult) (review string, err error) {
	standing, err := g.CheckUndecided(r, about.SubjectKind)
	if err != nil || standing != "" {
		return standing, err
	}
	return g.Review(r, verdict, about)
}
