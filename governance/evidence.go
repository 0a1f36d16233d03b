package governance

// The evidence of a milestone report: the files that it names, and what the milestone requires. A
// person sees the evidence before deciding.

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/patch"
	"ac/internal/redact"
	"ac/internal/shape"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// Bounds of evidence, sizes in bytes.
const (
	evidenceText  = 256 << 10 // text of one item
	evidenceTexts = 2 << 20   // text of all items
	evidenceFile  = 64 << 20  // larger files are not read
	mostEvidence  = 200       // items
)

// MilestoneEvidence is what a milestone report offers as evidence, and what its milestone
// requires.
type MilestoneEvidence struct {
	ProjectID  string              `json:"project_id"`
	ArtifactID string              `json:"artifact_id"`
	Task       EvidenceOfTask      `json:"task"`
	Milestone  EvidenceOfMilestone `json:"milestone"`
	// Criteria are the acceptance criteria of the milestone, then those of the task.
	Criteria []string         `json:"criteria"`
	Requires EvidenceRequired `json:"requires"`
	// Fits reports whether the milestone could be approved now, judging by the documents. Why
	// explains what prevents it.
	Fits  bool           `json:"fits"`
	Why   string         `json:"why,omitempty"`
	Items []EvidenceItem `json:"items"`
}

// EvidenceOfTask is the task of a report. Title is empty if the task cannot be read.
type EvidenceOfTask struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// EvidenceOfMilestone is the milestone of a report. Only ID is set if the milestone does not
// exist.
type EvidenceOfMilestone struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
}

// EvidenceRequired is what a milestone requires.
type EvidenceRequired struct {
	Patch bool `json:"patch"`
	Tests bool `json:"tests"`
}

// Forms of evidence, by file extension.
const (
	FormMissing  = "missing"
	FormMarkdown = "markdown"
)

// EvidenceItem is a file that a report names. An id without files is one item of form missing.
// Added, Removed and Files are set for patches only.
type EvidenceItem struct {
	ID        string `json:"id"`
	Role      string `json:"role"` // evidence or tests
	Form      string `json:"form"` // patch, text, json, markdown or missing
	Relpath   string `json:"relpath,omitempty"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256,omitempty"` // "" for a file that is not read
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
	Binary    bool   `json:"binary,omitempty"` // a binary file has no text
	Added     *int   `json:"added,omitempty"`
	Removed   *int   `json:"removed,omitempty"`
	Files     *int   `json:"files,omitempty"`
}

// ReportEvidence returns the evidence of a report, masked if mask is set. It does not check the
// policy: the caller must have checked that the actor may read the report. A report that cannot
// be approved has evidence as well. An artifact that is not a milestone report is fault.NotFound.
func ReportEvidence(w *workspace.Workspace, item Item, mask bool) (e MilestoneEvidence, err error) {
	record, err := ReadArtifact(w, item.ProjectID, item.ArtifactID)
	if err != nil {
		return e, err
	}
	if record.String("type") != "milestone_report" {
		return e, fault.New(fault.NotFound, "artifact %s is no milestone report", item.ArtifactID)
	}
	e = MilestoneEvidence{
		ProjectID: item.ProjectID, ArtifactID: item.ArtifactID, Criteria: []string{}, Items: []EvidenceItem{},
		Task: EvidenceOfTask{ID: safe(record.String("task_id"))}, Milestone: EvidenceOfMilestone{ID: safe(record.String("milestone_id"))},
	}
	e.contract(w)
	if why := approvable(w, item, record); why != nil {
		e.Why = redact.NewRedactor(nil).Text(why.Error())
	}
	e.Fits = e.Why == ""
	r := evidenceReader{w: w, project: item.ProjectID, left: evidenceTexts}
	if mask {
		r.redactor = redact.NewRedactor(nil)
	}
	for _, list := range []struct{ field, role string }{{"evidence_artifacts", "evidence"}, {"tests_artifacts", "tests"}} {
		for _, id := range texts(record.Fields.Get(list.field)) {
			if len(e.Items) < mostEvidence {
				e.Items = append(e.Items, r.items(id, list.role)...)
			}
		}
	}
	return e, nil
}

// contract adds the requirements of the task and its milestone, as far as they can be read.
func (e *MilestoneEvidence) contract(w *workspace.Workspace) {
	if e.Task.ID == "" {
		return
	}
	task, err := w.Task(e.ProjectID, e.Task.ID)
	if err != nil {
		return // approvable reports the error
	}
	redactor := redact.NewRedactor(nil)
	e.Task.Title = redactor.Text(task.Title)
	milestone, err := pm.MilestoneOf(&task, e.Milestone.ID)
	var own []string
	if err == nil {
		e.Milestone = EvidenceOfMilestone{milestone.ID, redactor.Text(milestone.Title), milestone.Kind, milestone.Status}
		required := requiredOf(*milestone)
		e.Requires, own = EvidenceRequired{required.RequiresPatch, required.RequiresTests}, milestone.AcceptanceCriteria
	}
	for _, one := range append(append([]string{}, own...), task.AcceptanceCriteria...) {
		e.Criteria = append(e.Criteria, redactor.Text(one))
	}
}

// approvable returns why a report could not be approved now, nil if it could. It makes the checks
// of ApproveMilestone except for the policy.
func approvable(w *workspace.Workspace, item Item, record Record) error {
	report, err := DecodeItem(record, doc.MilestoneReportCodec)
	if err == nil {
		err = record.InProject(item.ProjectID)
	}
	if err != nil {
		return err
	}
	if !workspace.SafeID(report.TaskID) {
		return fault.New(fault.InvalidFile, "%s: %q cannot name a task", record.Name, report.TaskID)
	}
	task, err := w.Task(item.ProjectID, report.TaskID)
	if err != nil {
		return err
	}
	milestone, err := pm.MilestoneOf(&task, report.MilestoneID)
	if err == nil {
		err = checkNotDone(*milestone)
	}
	if err != nil {
		return err
	}
	state, err := StateOf(w, item, KindMilestone)
	if err != nil {
		return err
	}
	if state.Approval != nil {
		return fault.New(fault.Conflict, "%s was approved already (%s)", item.ArtifactID, state.Approval.ID)
	}
	return checkEvidence(w, item.ProjectID, *milestone, report)
}

// texts returns the strings of a list in front matter.
func texts(v *shape.Value) (list []string) {
	for _, one := range v.Items {
		if v.Kind == shape.List && one.Kind == shape.String {
			list = append(list, one.Text)
		}
	}
	return list
}

// evidenceReader reads the files of a report.
type evidenceReader struct {
	w        *workspace.Workspace
	project  string
	redactor *redact.Redactor // nil for no masking
	left     int              // bytes of text left for further items
}

// items returns the files of an id, one per known extension.
func (r *evidenceReader) items(id, role string) (items []EvidenceItem) {
	for _, kind := range []struct{ ending, form string }{{".md", FormMarkdown}, {".patch", "patch"}, {".txt", "text"}, {".json", "json"}} {
		if !workspace.SafeID(id) {
			break // not a safe file name
		}
		item := EvidenceItem{ID: id, Role: role, Form: kind.form, Relpath: path.Join(workspace.ArtifactsDir(r.project), id+kind.ending)}
		if r.read(&item) {
			items = append(items, item)
		}
	}
	if items == nil {
		items = []EvidenceItem{{ID: id, Role: role, Form: FormMissing}}
	}
	return items
}

// read fills in an item. It reports whether the file exists.
func (r *evidenceReader) read(item *EvidenceItem) bool {
	st, err := r.w.FS.Stat(item.Relpath)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	item.Bytes = st.Size()
	content, err := durable.ReadFile(r.w.FS, item.Relpath, evidenceFile)
	if err != nil {
		item.Truncated = true // the file exists but is too large or unreadable
		return true
	}
	item.Bytes, item.SHA256 = int64(len(content)), hashOf(content)
	if item.Binary = isBinary(content); item.Binary {
		return true
	}
	if item.Form == "patch" {
		added, removed, files := patch.Count(string(content))
		item.Added, item.Removed, item.Files = &added, &removed, &files
	}
	text := string(content)
	limit := min(evidenceText, r.left)
	if len(text) > 2*limit { // do not mask text that will be truncated
		text, item.Truncated = wholeLines(text, 2*limit), true
	}
	if r.redactor != nil {
		text = r.redactor.Text(text)
	}
	if len(text) > limit {
		text, item.Truncated = wholeLines(text, limit), true
	}
	item.Text = text
	r.left -= len(text)
	return true
}

// isBinary reports whether content is not text.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content)
}

// wholeLines truncates a text to a limit, at the end of a line if it contains one.
func wholeLines(text string, limit int) string {
	text = text[:limit]
	if end := strings.LastIndexByte(text, '\n'); end >= 0 {
		return text[:end+1]
	}
	return strings.ToValidUTF8(text, "")
}
