package doc

// The answers of workers, by kind, as stored in answer.json.

import (
	"fmt"
	"strings"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// maxAnswerText bounds the text of an answer in bytes.
const maxAnswerText = 256 << 10

// JobAnswer is jobs/<job_id>/answer.json.
type JobAnswer struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"`
	JobID         string `json:"job_id"`
	AttemptRunID  string `json:"attempt_run_id"`
	Kind          string `json:"kind"`
	Answer        Answer `json:"answer"`
	// Files holds the origin of each proposed file, in the order of the answer.
	Files []ProposedFile `json:"files,omitempty"`
}

// ProposedFile describes a file of an answer: its id, and the repository's version of it when
// the answer was read. The proposed content is in the answer.
type ProposedFile struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	// FromSHA256 is the hash of the repository's file, nil if there was none or it was
	// unreadable. NewSHA256 is the hash of the proposed content, nil for a deletion and for a
	// file with a problem.
	FromSHA256 *string `json:"from_sha256" is:"nullable"`
	NewSHA256  *string `json:"new_sha256" is:"nullable"`
	Problem    string  `json:"problem,omitempty" is:"optional"`
}

// Answer is an answer of one kind. Exactly one field is set.
type Answer struct {
	Text    *TextAnswer
	Files   *FilesAnswer
	Review  *ReviewAnswer
	Verdict *VerdictAnswer
	Plan    *PlanAnswer
}

// MarshalJSON writes the field that is set.
func (a Answer) MarshalJSON() ([]byte, error) {
	for _, is := range []struct {
		there bool
		value any
	}{{a.Text != nil, a.Text}, {a.Files != nil, a.Files}, {a.Review != nil, a.Review}, {a.Verdict != nil, a.Verdict}} {
		if is.there {
			return marshal(is.value)
		}
	}
	return marshal(a.Plan)
}

// TextAnswer is an answer of kind text or prose. Prose may be empty and has no summary.
type TextAnswer struct {
	_       struct{} `is:"strict"`
	Text    string   `json:"text" is:"maxbytes=262144"`
	Summary string   `json:"summary,omitempty" is:"optional,empty"`
}

// FilesAnswer is an answer of kind files.
type FilesAnswer struct {
	_       struct{}     `is:"strict"`
	Files   []AnswerFile `json:"files"`
	Summary string       `json:"summary" is:"empty"`
}

// AnswerFile is a file that a worker proposes: its whole content, a new text for the
// request's selection, or its deletion.
type AnswerFile struct {
	_         struct{} `is:"strict"`
	Path      string   `json:"path" is:"path"`
	Content   *string  `json:"content,omitempty" is:"optional,empty,maxbytes=1048576"`
	Selection *string  `json:"selection,omitempty" is:"optional,empty,maxbytes=1048576"`
	Delete    bool     `json:"delete,omitempty" is:"optional"`
	Language  string   `json:"language,omitempty" is:"optional,empty"`
	Kind      string   `json:"kind,omitempty" is:"optional,empty"`
	Summary   string   `json:"summary,omitempty" is:"optional,empty"`
}

const maxAnswerFiles = 200

// CheckFields bounds the number of files.
func (a *FilesAnswer) CheckFields() []fault.Issue {
	return atMost(len(a.Files), maxAnswerFiles, "files")
}

// Check requires exactly one of the three forms.
func (f *AnswerFile) Check() []fault.Issue {
	forms := 0
	for _, is := range []bool{f.Content != nil, f.Selection != nil, f.Delete} {
		if is {
			forms++
		}
	}
	if forms == 1 {
		return nil
	}
	return []fault.Issue{{Path: []any{}, Code: "custom", Message: "exactly one of content, selection and delete: true must be given"}}
}

// ReviewAnswer is an answer of kind review.
type ReviewAnswer struct {
	_       struct{}      `is:"strict"`
	Issues  []ReviewIssue `json:"issues"`
	Summary string        `json:"summary" is:"empty"`
}

// ReviewIssue is one finding of a review.
type ReviewIssue struct {
	_          struct{} `is:"strict"`
	Severity   string   `json:"severity" is:"enum=error|warning|info"`
	Message    string   `json:"message"`
	Line       int      `json:"line,omitempty" is:"optional,min=1"`
	Suggestion string   `json:"suggestion,omitempty" is:"optional,empty"`
	Path       string   `json:"path,omitempty" is:"optional,empty"`
}

const maxReviewIssues = 500

// CheckFields bounds the number of findings.
func (a *ReviewAnswer) CheckFields() []fault.Issue {
	return atMost(len(a.Issues), maxReviewIssues, "issues")
}

// VerdictAnswer is an answer of kind verdict.
type VerdictAnswer struct {
	_        struct{} `is:"strict"`
	Approved bool     `json:"approved"`
	Text     string   `json:"text" is:"empty,maxbytes=262144"`
}

// PlanAnswer is an answer of kind plan: the tasks to hand out, none if the work is done.
type PlanAnswer struct {
	_     struct{}   `is:"strict"`
	Done  bool       `json:"done"`
	Text  string     `json:"text" is:"empty,maxbytes=262144"`
	Tasks []PlanTask `json:"tasks"`
}

// PlanTask is a goal for one of a supervisor's workers.
type PlanTask struct {
	_     struct{} `is:"strict"`
	Agent string   `json:"agent"`
	Goal  string   `json:"goal" is:"maxbytes=262144"`
}

const maxPlanTasks = 16

// CheckFields bounds the number of tasks.
func (a *PlanAnswer) CheckFields() []fault.Issue {
	return atMost(len(a.Tasks), maxPlanTasks, "tasks")
}

// Check requires tasks exactly when the plan is not done.
func (a *PlanAnswer) Check() []fault.Issue {
	if a.Done == (len(a.Tasks) == 0) {
		return nil
	}
	return []fault.Issue{{Path: []any{"tasks"}, Code: "custom", Message: "must be empty exactly when done is true"}}
}

func atMost(n, most int, field string) []fault.Issue {
	if n <= most {
		return nil
	}
	return []fault.Issue{{Path: []any{field}, Code: "too_big", Maximum: new(float64(most)), Inclusive: new(true), Message: fmt.Sprintf("must have at most %d items", most)}}
}

// PlainText returns the text of an answer for the next reader. Files and findings become a list
// under their summary.
func (a Answer) PlainText() string {
	var b strings.Builder
	switch {
	case a.Text != nil:
		return a.Text.Text
	case a.Verdict != nil:
		return a.Verdict.Text
	case a.Plan != nil:
		return a.Plan.Text
	case a.Files != nil:
		b.WriteString(a.Files.Summary)
		for _, f := range a.Files.Files {
			fmt.Fprintf(&b, "\n- %s", f.Path)
			if f.Delete {
				b.WriteString(" (deleted)")
			}
			if f.Summary != "" {
				b.WriteString(": " + f.Summary)
			}
		}
	case a.Review != nil:
		b.WriteString(a.Review.Summary)
		for _, i := range a.Review.Issues {
			b.WriteString("\n- " + i.String())
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// String formats a finding on one line.
func (i ReviewIssue) String() string {
	at := ""
	switch {
	case i.Path != "" && i.Line > 0:
		at = fmt.Sprintf(" %s:%d", i.Path, i.Line)
	case i.Path != "":
		at = " " + i.Path
	case i.Line > 0:
		at = fmt.Sprintf(" line %d", i.Line)
	}
	text := i.Severity + at + ": " + i.Message
	if i.Suggestion != "" {
		text += " (" + i.Suggestion + ")"
	}
	return text
}

var (
	textAnswerCodec    = yamldoc.For[TextAnswer]()
	filesAnswerCodec   = yamldoc.For[FilesAnswer]()
	reviewAnswerCodec  = yamldoc.For[ReviewAnswer]()
	verdictAnswerCodec = yamldoc.For[VerdictAnswer]()
	planAnswerCodec    = yamldoc.For[PlanAnswer]()
	storedAnswerCodec  = yamldoc.For[storedAnswer]()
)

// BindAnswer converts a value into an answer of the given kind. It returns a
// *yamldoc.SchemaError if the value is invalid.
func BindAnswer(kind string, v *shape.Value) (a Answer, err error) {
	switch kind {
	case AnswerText:
		a.Text, err = bindTo(textAnswerCodec, v)
	case AnswerProse:
		// The text is whatever the agent wrote, even nothing.
		a.Text = &TextAnswer{Text: v.Get("text").Text}
	case AnswerFiles:
		a.Files, err = bindTo(filesAnswerCodec, v)
	case AnswerReview:
		a.Review, err = bindTo(reviewAnswerCodec, v)
	case AnswerVerdict:
		a.Verdict, err = bindTo(verdictAnswerCodec, v)
	case AnswerPlan:
		a.Plan, err = bindTo(planAnswerCodec, v)
	default:
		err = fmt.Errorf("answers of kind %q are not known", kind)
	}
	return a, err
}

func bindTo[T any](codec yamldoc.Codec[T], v *shape.Value) (*T, error) {
	value, err := codec.Bind(v)
	return &value, err
}

// storedAnswer is answer.json with the answer still untyped, since its type depends on Kind.
type storedAnswer struct {
	SchemaVersion int            `json:"schema_version" is:"min=1,max=1"`
	Type          string         `json:"type" is:"enum=job_answer"`
	JobID         string         `json:"job_id"`
	AttemptRunID  string         `json:"attempt_run_id"`
	Kind          string         `json:"kind" is:"enum=prose|text|files|review|verdict|plan"`
	Answer        shape.Value    `json:"answer"`
	Files         []ProposedFile `json:"files" is:"optional"`
}

// BindJobAnswer converts the value of answer.json.
func BindJobAnswer(v *shape.Value) (JobAnswer, error) {
	s, err := storedAnswerCodec.Bind(v)
	if err != nil {
		return JobAnswer{}, err
	}
	answer := JobAnswer{SchemaVersion: s.SchemaVersion, Type: s.Type, JobID: s.JobID, AttemptRunID: s.AttemptRunID, Kind: s.Kind, Files: s.Files}
	answer.Answer, err = BindAnswer(s.Kind, &s.Answer)
	return answer, err
}

// ProseAnswer returns an agent's text as an answer, truncated to the bound of answers.
func ProseAnswer(text string) Answer {
	if len(text) > maxAnswerText {
		text = strings.ToValidUTF8(text[:maxAnswerText], "")
	}
	return Answer{Text: &TextAnswer{Text: text}}
}
