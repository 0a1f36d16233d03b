package doc

// The order of a job: what a caller requests beyond the JobSpec, which is strict and read by
// other programs. It is stored in order.json beside the record.

import (
	"fmt"
	"strings"

	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Kinds of answers. A job without one ends with its worker's result.
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
	// Mode and Rules are the policy of live attempts.
	Mode       Mode         `json:"mode,omitempty" is:"optional,enum=default|accept_edits|plan|full_auto"`
	Rules      []PolicyRule `json:"rules,omitempty" is:"optional"`
	RequestKey string       `json:"request_key,omitempty" is:"optional"`
	// Attempts is the maximum number of attempts, 0 for the default.
	Attempts    int  `json:"attempts,omitempty" is:"optional,min=1,max=3"`
	Interactive bool `json:"interactive,omitempty" is:"optional"`
	// ModelProfile names the workspace's model profile for the worker.
	ModelProfile string `json:"model_profile,omitempty" is:"optional"`
	// Placement is where the attempts run, nil for the agent's own placement, else the hub's.
	Placement *Placement `json:"placement,omitempty" is:"optional"`
	// WorkerKind is the real kind of worker if job.yaml cannot name it.
	WorkerKind string `json:"worker_kind,omitempty" is:"optional,enum=acp|cmd"`
	// TimeoutMS bounds one attempt in milliseconds, 0 for the default.
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

// CheckFields checks the bounds that no tag expresses.
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

// Attachment is a text included in a job's prompt.
type Attachment struct {
	_    struct{} `is:"strict"`
	Name string   `json:"name" is:"maxbytes=200"`
	Text string   `json:"text" is:"empty,maxbytes=262144"`
	// Path is the text's origin in the repository. For a selection, it is the file that
	// receives the answer's selection.
	Path string `json:"path,omitempty" is:"optional,path"`
}

// SelectionName is the name of the attachment that is part of a file.
const SelectionName = "selection"

// CheckFields requires a one-line name.
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

// BaseSnapshot makes a worktree from the repository's current content, including uncommitted
// files.
const BaseSnapshot = "snapshot"

// JobPlace is where a worker works: the repository, the isolation and the base.
type JobPlace struct {
	_          struct{} `is:"strict"`
	RepoID     string   `json:"repo_id"`
	Isolation  string   `json:"isolation" is:"enum=worktree|shared|none"`
	Base       string   `json:"base,omitempty" is:"optional,enum=head|snapshot"`
	BaseRunID  string   `json:"base_run_id,omitempty" is:"optional,id"`
	WorkdirRel string   `json:"workdir_rel,omitempty" is:"optional,path"`
}

// CheckFields checks that each isolation has only its own fields.
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

// JobOrigin identifies who requested a job. Ref is the requester's own reference.
type JobOrigin struct {
	_    struct{} `is:"strict"`
	Kind string   `json:"kind" is:"maxbytes=200"`
	Ref  string   `json:"ref,omitempty" is:"optional,maxbytes=200"`
}

// JobOrderCodec reads and writes orders.
var JobOrderCodec = yamldoc.For[JobOrder]()
