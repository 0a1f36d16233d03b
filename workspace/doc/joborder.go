package doc

// The order of a job: what a caller asks for beyond the JobSpec, which is strict
// and read by other programs. It lies in order.json beside the record.

import (
	"fmt"
	"strings"

	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Kinds of answers. Without one a job ends with the result of its worker.
const (
	AnswerProse   = "prose"
	AnswerText    = "text"
	AnswerFiles   = "files"
	AnswerReview  = "review"
	AnswerVerdict = "verdict"
	AnswerPlan    = "plan"
)

// JobOrder is jobs/<job_id>/order.json.
type JobOrder struct {
	_            struct{}     `is:"strict"`
	Answer       string       `json:"answer,omitempty" is:"optional,enum=prose|text|files|review|verdict|plan"`
	Instructions string       `json:"instructions,omitempty" is:"optional,empty,maxbytes=32768"`
	Attachments  []Attachment `json:"attachments,omitempty" is:"optional"`
	Place        *JobPlace    `json:"place,omitempty" is:"optional"`
	Origin       *JobOrigin   `json:"origin,omitempty" is:"optional"`
	// Mode and Rules are the policy of a live attempt.
	Mode       Mode         `json:"mode,omitempty" is:"optional,enum=default|accept_edits|plan|full_auto"`
	Rules      []PolicyRule `json:"rules,omitempty" is:"optional"`
	RequestKey string       `json:"request_key,omitempty" is:"optional"`
	// Attempts is how often the job is tried, 0 for the usual number.
	Attempts    int  `json:"attempts,omitempty" is:"optional,min=1,max=3"`
	Interactive bool `json:"interactive,omitempty" is:"optional"`
	// ModelProfile is the profile of the workspace that the worker is started with.
	ModelProfile string `json:"model_profile,omitempty" is:"optional"`
	// Placement is where the attempts run, nil for what their agent says, or the hub.
	Placement *Placement `json:"placement,omitempty" is:"optional"`
	// WorkerKind is the true kind of worker where job.yaml cannot name it.
	WorkerKind string `json:"worker_kind,omitempty" is:"optional,enum=acp|cmd"`
	// TimeoutMS bounds one attempt in milliseconds, 0 for the usual time.
	TimeoutMS int64 `json:"timeout_ms,omitempty" is:"optional,min=1000,max=7200000"`
}

// Bounds of an order.
const (
	maxAttachments     = 8
	maxAttachment      = 256 << 10 // bytes of one
	maxAttachmentTexts = 1 << 20   // bytes of all
	maxOrderRules      = 100
	requestKeyDigits   = 64
)

// CheckFields holds an order to the bounds that no tag describes.
func (o *JobOrder) CheckFields() (issues []fault.Issue) {
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: why})
	}
	if len(o.Attachments) > maxAttachments {
		refuse(fmt.Sprintf("must have at most %d items", maxAttachments), "attachments")
	}
	total := 0
	for _, a := range o.Attachments {
		total += len(a.Text)
	}
	if total > maxAttachmentTexts {
		refuse(fmt.Sprintf("must have at most %d bytes of text in all", maxAttachmentTexts), "attachments")
	}
	if len(o.Rules) > maxOrderRules {
		refuse(fmt.Sprintf("must have at most %d items", maxOrderRules), "rules")
	}
	if o.RequestKey != "" && (len(o.RequestKey) != requestKeyDigits || strings.Trim(o.RequestKey, "0123456789abcdef") != "") {
		refuse(fmt.Sprintf("must be %d hexadecimal digits in lower case", requestKeyDigits), "request_key")
	}
	return issues
}

// Attachment is a text that the prompt of a job carries.
type Attachment struct {
	_    struct{} `is:"strict"`
	Name string   `json:"name" is:"maxbytes=200"`
	Text string   `json:"text" is:"empty,maxbytes=262144"`
	// Path says where in the repository the text comes from: for a selection, the
	// file that the answer's selection is put into.
	Path string `json:"path,omitempty" is:"optional,path"`
}

// SelectionName is the name of the attachment that is a part of a file.
const SelectionName = "selection"

// CheckFields holds the name of an attachment to one line.
func (a *Attachment) CheckFields() (issues []fault.Issue) {
	if strings.ContainsAny(a.Name, "\r\n\x00") {
		issues = append(issues, fault.Issue{Path: []any{"name"}, Code: "custom", Message: "must be one line"})
	}
	return issues
}

// How a job is isolated.
const (
	IsolationWorktree = "worktree"
	IsolationShared   = "shared"
	IsolationNone     = "none"
)

// BaseSnapshot makes a worktree from what lies in the repository, uncommitted
// files included.
const BaseSnapshot = "snapshot"

// JobPlace is where a worker works.
type JobPlace struct {
	_          struct{} `is:"strict"`
	RepoID     string   `json:"repo_id"`
	Isolation  string   `json:"isolation" is:"enum=worktree|shared|none"`
	Base       string   `json:"base,omitempty" is:"optional,enum=head|snapshot"`
	BaseRunID  string   `json:"base_run_id,omitempty" is:"optional,id"`
	WorkdirRel string   `json:"workdir_rel,omitempty" is:"optional,path"`
}

// CheckFields holds each isolation to its own fields.
func (p *JobPlace) CheckFields() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	if (p.Isolation == IsolationShared) != (p.BaseRunID != "") {
		refuse("base_run_id", "is needed with isolation shared, and only there")
	}
	if p.Base != "" && p.Isolation == IsolationNone {
		refuse("base", "is for worktrees only")
	}
	return issues
}

// JobOrigin says who asked for a job; Ref is theirs.
type JobOrigin struct {
	_    struct{} `is:"strict"`
	Kind string   `json:"kind" is:"maxbytes=200"`
	Ref  string   `json:"ref,omitempty" is:"optional,maxbytes=200"`
}

// JobOrderCodec reads and writes orders.
var JobOrderCodec = yamldoc.For[JobOrder]()
