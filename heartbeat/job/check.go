package job

// Checking whether a worker's output contains a valid result.

import (
	"errors"
	"slices"

	"ac/heartbeat/answer"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// acceptedAnswer is a valid answer of a worker.
type acceptedAnswer struct {
	result doc.JobResult
	report *doc.HeartbeatReport // of a heartbeat job
	answer *doc.JobAnswer       // of a job that asks for one
}

// answerVerdict is the verdict on an attempt: an accepted answer, or the issues.
type answerVerdict struct {
	accepted *acceptedAnswer
	issues   []doc.JobError
	text     string // of the answer, for a repair; "" if nothing can be repaired
}

// judge checks the output of an attempt. Only an attempt that ended normally can have an answer.
func judge(w *workspace.Workspace, p jobRef, job promptRequest, a doc.JobAttempt) answerVerdict {
	if a.Status != doc.AttemptEnded {
		issue := doc.JobError{Code: CodeAttemptFailed, Message: a.Error}
		if s, err := session.Read(w, a.SessionRef); err == nil && s.ErrorKind != "" {
			issue.Details = "error_kind: " + s.ErrorKind
		}
		return answerVerdict{issues: []doc.JobError{issue}}
	}
	return judgeOutput(w, p, job, a)
}

// judgeOutput checks the output of an attempt, however it ended.
func judgeOutput(w *workspace.Workspace, p jobRef, job promptRequest, a doc.JobAttempt) answerVerdict {
	kind := answerKind(job.order)
	if kind == doc.AnswerProse {
		return judgeProse(w, p, a)
	}
	file, raw := output(w, p.project, a.RunID)
	text := textOf(file, a.Provider, raw)
	check := job.check()
	j := answerVerdict{text: text}
	values := answer.Values(text)
	j.accepted, j.issues = check(values, job.spec.JobID, a.RunID)
	if j.accepted != nil {
		return j
	}
	if text != raw {
		// Output that is one JSON value may hold the answer outside its text. So may any line that
		// a command prints.
		var beside []shape.Value
		if whole, ok := answer.Lenient(raw); ok {
			beside = answer.Within(whole)
		} else if doc.AnyWorkerKindOf(a.Provider) == doc.WorkerCmd {
			beside = answer.Values(provider.WithoutEchoes(raw))
		}
		if good, _ := check(beside, job.spec.JobID, a.RunID); good != nil {
			return answerVerdict{accepted: good, text: text}
		}
	}
	if kind == doc.AnswerText && a.Attempt >= job.last {
		if bare := bareText(values, text, job.spec.JobID, a.RunID); bare != nil {
			return answerVerdict{accepted: bare, text: text}
		}
	}
	return j
}

// check returns the function that checks the values in an output.
func (job promptRequest) check() func(values []shape.Value, id, run string) (*acceptedAnswer, []doc.JobError) {
	switch {
	case answerKind(job.order) != "":
		return job.checkAnswers
	case job.spec.JobKind == doc.JobHeartbeat:
		return checkReports
	}
	return checkResults
}

// checkResults returns the first value that is a result of this job. If there is none, it returns
// the issues of the first value tried.
func checkResults(values []shape.Value, id, run string) (*acceptedAnswer, []doc.JobError) {
	objects := objectsOf(values)
	ordered := slices.Concat(
		slices.DeleteFunc(slices.Clone(objects), func(v shape.Value) bool { return !looksLikeResult(&v) }),
		slices.DeleteFunc(slices.Clone(objects), func(v shape.Value) bool { return looksLikeResult(&v) }),
	)
	return firstValid(ordered, values, "result", func(v shape.Value) (*acceptedAnswer, []doc.JobError) {
		result, issues := checkResult(v, id, run)
		return &acceptedAnswer{result: result}, issues
	})
}

func checkReports(values []shape.Value, id, run string) (*acceptedAnswer, []doc.JobError) {
	return firstValid(objectsOf(values), values, "heartbeat_report", func(v shape.Value) (*acceptedAnswer, []doc.JobError) {
		report, err := doc.BindHeartbeatReport(new(withoutNulls(v)))
		if err != nil {
			return nil, issuesOf(err, "heartbeat_report")
		}
		return &acceptedAnswer{report: &report, result: resultOf(report, id, run)}, nil
	})
}

func objectsOf(values []shape.Value) []shape.Value {
	return slices.DeleteFunc(slices.Clone(values), func(v shape.Value) bool { return v.Kind != shape.Map })
}

func firstValid(ordered, values []shape.Value, what string, try func(shape.Value) (*acceptedAnswer, []doc.JobError)) (*acceptedAnswer, []doc.JobError) {
	var first []doc.JobError
	for _, v := range ordered {
		answer, issues := try(v)
		if len(issues) == 0 {
			return answer, nil
		}
		if first == nil {
			first = issues
		}
	}
	switch {
	case first != nil:
		return nil, first
	case len(values) > 0 && what == "result":
		return nil, []doc.JobError{{Code: "result_not_object", Message: "result: expected object, got " + values[0].Kind.String()}}
	}
	return nil, []doc.JobError{{Code: what + "_unparseable", Message: what + ": the output contains no JSON object"}}
}

// looksLikeResult reports whether an object appears to be meant as a result.
func looksLikeResult(v *shape.Value) bool {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return v.Get(name).Kind == shape.Absent })
	}
	return v.Get("type").Text == "result" || has("status", "summary") || has("job_id", "attempt_run_id") ||
		has("files_changed", "commands_run", "artifacts")
}

// checkResult binds one value. It fills in missing members that ac knows, and overrides the
// worker's attempt_run_id. A different job_id is an issue.
func checkResult(v shape.Value, id, run string) (doc.JobResult, []doc.JobError) {
	v = withoutNulls(v)
	set(&v, "schema_version", shape.Value{Kind: shape.Number, Num: 1}, false)
	set(&v, "type", shape.Value{Kind: shape.String, Text: "result"}, false)
	set(&v, "job_id", shape.Value{Kind: shape.String, Text: id}, false)
	set(&v, "attempt_run_id", shape.Value{Kind: shape.String, Text: run}, true)
	result, err := doc.JobResultCodec.Bind(&v)
	if err != nil {
		return result, issuesOf(err, "result")
	}
	if result.JobID != id {
		return result, []doc.JobError{{Code: "result_job_id_mismatch", Message: "job_id: is " + result.JobID + " instead of " + id}}
	}
	return result, nil
}

// set sets a member. It replaces an existing value only if always is true.
func set(v *shape.Value, name string, to shape.Value, always bool) {
	for i, key := range v.Keys {
		if key == name {
			if always {
				v.Items[i] = to
			}
			return
		}
	}
	v.Keys, v.Items = append(v.Keys, name), append(v.Items, to)
}

// withoutNulls returns a copy of a value without null members, because the schemas of some CLIs
// cannot express optional members. It keeps a null exit_code.
func withoutNulls(v shape.Value) shape.Value {
	fresh := v
	fresh.Keys, fresh.Items = nil, nil
	for i, item := range v.Items {
		if v.Kind == shape.Map {
			if item.Kind == shape.Null && v.Keys[i] != "exit_code" {
				continue
			}
			fresh.Keys = append(fresh.Keys, v.Keys[i])
		}
		fresh.Items = append(fresh.Items, withoutNulls(item))
	}
	return fresh
}

// maxIssues bounds the reported issues of a bad answer.
const maxIssues = 50

func issuesOf(err error, what string) (issues []doc.JobError) {
	code := what + "_schema_invalid"
	schema, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		return []doc.JobError{{Code: code, Message: what + ": " + err.Error()}}
	}
	for _, issue := range schema.Issues[:min(len(schema.Issues), maxIssues)] {
		field := issue.Field()
		if field == "" {
			field = what
		}
		issues = append(issues, doc.JobError{Code: code, Message: cut(field+": "+issue.Message, 500)})
	}
	return issues
}

// resultOf returns the result that corresponds to a report.
func resultOf(report doc.HeartbeatReport, id, run string) doc.JobResult {
	result := blank(doc.ResultSucceeded, report.Summary)
	result.JobID, result.AttemptRunID = id, run
	for _, action := range report.Actions {
		head := action.Head()
		result.NextActions = append(result.NextActions, doc.NextAction{Action: head.Kind + ":" + head.IdempotencyKey, Rationale: head.Summary})
	}
	return result
}
