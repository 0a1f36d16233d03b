package job

// Prompts of workers. The labels are part of the interface: workers and tools
// depend on them.

import (
	"fmt"
	"strings"

	"ac/internal/canonjson"
	"ac/workspace/doc"
)

// asked is what a prompt asks for: a job, with its order if it has one. mark is a
// word that no attachment can know.
type asked struct {
	spec  doc.JobSpec
	order *doc.JobOrder
	last  int // the number of its last attempt
	mark  string
}

// askedOf is what a record asks for.
func askedOf(record doc.Job) asked {
	return asked{spec: record.Job, order: record.Order, last: attemptsOf(record)}
}

// previous is the part of a prompt about the attempt before.
type previous struct {
	run    string
	failed string // why it did not end normally, "" if it did
	judged judged
}

// repairable reports whether the previous attempt left something to repair.
func (p *previous) repairable() bool {
	return p != nil && p.failed == "" && strings.TrimSpace(p.judged.text) != ""
}

// maxPrevious bounds the output in a repair prompt, in characters.
const maxPrevious = 8000

// prompt is the text for an attempt.
func prompt(job asked, attempt int, run string, before *previous) string {
	var b strings.Builder
	kind := answerKind(job.order)
	if job.order != nil && strings.TrimSpace(job.order.Instructions) != "" {
		b.WriteString(strings.TrimSpace(job.order.Instructions) + "\n\n")
	}
	switch {
	case kind == doc.AnswerProse:
		b.WriteString(orText(job.spec.Goal, "(no input)"))
		if len(job.order.Attachments) > 0 {
			b.WriteString("\n\n")
			writeAttachments(&b, job)
		}
		return b.String()
	case before.repairable():
		writeRepairPrompt(&b, job, attempt, run, before)
		return b.String()
	case kind != "":
		writeAnswerPrompt(&b, job, run)
	default:
		writeInitial(&b, job, run)
	}
	if before != nil {
		fmt.Fprintf(&b, "The attempt before this one did not end properly: %s\n", orText(before.failed, "it left no output"))
	}
	return b.String()
}

// writeRepairPrompt asks for the answer of the attempt before in the right shape.
func writeRepairPrompt(b *strings.Builder, job asked, attempt int, run string, before *previous) {
	kind := answerKind(job.order)
	if job.spec.JobKind == doc.JobHeartbeat {
		b.WriteString("Your answer to a heartbeat was not a valid report. Repair it.\n")
		b.WriteString(demand("one heartbeat report"))
		writeRepair(b, job.spec, run, *before)
		b.WriteString(reportExample)
		return
	}
	if attempt == maxAttempts {
		b.WriteString("You are a strict reformatter: you bring the output of another worker into shape and invent no facts.\n")
	}
	if kind != "" {
		fmt.Fprintf(b, "The output of the attempt before is not a valid answer of kind %s. Repair it.\n", kind)
		b.WriteString(demand("one answer of kind " + kind))
		writeRepair(b, job.spec, before.run, *before)
		b.WriteString(answerExample(kind))
		return
	}
	b.WriteString("The output of the attempt before is not a valid result. Repair it.\n")
	b.WriteString(demand("one result"))
	writeRepair(b, job.spec, before.run, *before)
	b.WriteString(resultExample(job.spec.JobID, before.run))
}

// writeAnswerPrompt asks for an answer of a kind.
func writeAnswerPrompt(b *strings.Builder, job asked, run string) {
	kind := answerKind(job.order)
	b.WriteString("You are a worker. Do the job below, then answer it.\n")
	b.WriteString(demand("one answer of kind " + kind))
	writeJob(b, job, run)
	b.WriteString(answerExample(kind))
}

// writeAttachments writes the texts of an order, each between two lines that name it.
func writeAttachments(b *strings.Builder, job asked) {
	for _, a := range job.order.Attachments {
		name := a.Name
		if a.Path != "" {
			name += " of " + a.Path
		}
		fmt.Fprintf(b, "----- begin %s %s -----\n%s\n----- end %s %s -----\n", name, job.mark, strings.TrimSuffix(a.Text, "\n"), name, job.mark)
	}
}

func orText(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

func demand(what string) string {
	return "Answer with nothing but " + what + " as a single JSON object: no code fences, no prose before or after it.\n\n"
}

func writeInitial(b *strings.Builder, job asked, run string) {
	spec := job.spec
	if spec.JobKind == doc.JobHeartbeat {
		b.WriteString("You answer a heartbeat of the company you work for. Look at what is due and propose actions only for concrete work.\n")
		b.WriteString(demand("one heartbeat report"))
		fmt.Fprintf(b, "job_id: %s\nattempt_run_id: %s\ngoal: %s\n", spec.JobID, run, spec.Goal)
		writeList(b, "constraints", spec.Constraints)
		writeRefs(b, spec.ContextRefs)
		b.WriteString(reportExample)
		return
	}
	b.WriteString("You are a worker. Do the job below, then report on it.\n")
	b.WriteString(demand("one result"))
	writeJob(b, job, run)
	b.WriteString(resultExample(spec.JobID, run))
}

// writeJob writes what is to be done, under the labels of the interface.
func writeJob(b *strings.Builder, job asked, run string) {
	spec := job.spec
	fmt.Fprintf(b, "job_id: %s\nattempt_run_id: %s\ngoal: %s\npermission_level: %s\n", spec.JobID, run, spec.Goal, spec.PermissionLevel)
	writeList(b, "constraints", spec.Constraints)
	writeList(b, "deliverables", spec.Deliverables)
	writeRefs(b, spec.ContextRefs)
	if job.order != nil {
		writeAttachments(b, job)
	}
}

func writeRepair(b *strings.Builder, spec doc.JobSpec, run string, before previous) {
	fmt.Fprintf(b, "job_id: %s\nattempt_run_id: %s\ngoal: %s\n\nValidation issues to fix:\n", spec.JobID, run, spec.Goal)
	for _, issue := range before.judged.issues {
		fmt.Fprintf(b, "- %s: %s\n", issue.Code, issue.Message)
	}
	text := []rune(before.judged.text)
	fmt.Fprintf(b, "\nPrevious output:\n%s\n\n", string(text[:min(len(text), maxPrevious)]))
}

func writeList(b *strings.Builder, label string, items []string) {
	fmt.Fprintf(b, "%s:\n", label)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}

func writeRefs(b *strings.Builder, refs []doc.ContextRef) {
	b.WriteString("context_refs:\n")
	for _, r := range refs {
		fmt.Fprintf(b, "- [%s] %s", r.Kind, r.Value)
		if r.Description != "" {
			fmt.Fprintf(b, " (%s)", r.Description)
		}
		b.WriteByte('\n')
	}
}

// resultExample shows the shape of a result.
func resultExample(id, run string) string {
	return fmt.Sprintf(`
The shape of a result, with example values:
{"schema_version":1,"type":"result","job_id":%s,"attempt_run_id":%s,"status":"succeeded","summary":"What was done, in a sentence or two.","files_changed":[{"path":"src/main.go","change_type":"modified","summary":"why"}],"commands_run":[{"command":"go test ./...","exit_code":0,"summary":"all passed"}],"artifacts":[{"relpath":"artifacts/art_1.md","kind":"report"}],"next_actions":[{"action":"Review the change.","rationale":"why"}],"errors":[]}
status is one of succeeded, needs_input, blocked, failed, canceled. All lists are required and may be empty. An error has code, message and optionally details.
`, canonjson.AppendString(nil, id), canonjson.AppendString(nil, run))
}

// reportExample shows the two shapes of a report.
const reportExample = `
The shape of a report when nothing is to be done:
{"schema_version":1,"type":"heartbeat_worker_report","status":"ok","token":"HEARTBEAT_OK","summary":"Nothing is due."}
The shape of a report that proposes actions, one of each kind:
{"schema_version":1,"type":"heartbeat_worker_report","status":"actions","summary":"What should happen.","actions":[
{"kind":"launch_job","idempotency_key":"fix-1","risk":"low","needs_approval":false,"summary":"why","project_id":"proj_1","goal":"what the job is for","worker_kind":"codex","permission_level":"read-only","constraints":[],"deliverables":[]},
{"kind":"add_comment","idempotency_key":"note-1","risk":"low","needs_approval":false,"project_id":"proj_1","body":"text","target_agent_id":"agent_1"},
{"kind":"create_approval_item","idempotency_key":"ask-1","risk":"high","needs_approval":true,"project_id":"proj_1","title":"what is to be decided","rationale":"why"},
{"kind":"noop","idempotency_key":"none-1","risk":"low","needs_approval":false,"reason":"why nothing is done"}]}
risk is low, medium or high. An idempotency_key names the action for ever: the same work has the same key.
launch_job may also have worker_agent_id, context_note, task_id, milestone_id; add_comment needs target_agent_id, target_artifact_id or target_run_id; create_approval_item may have a proposed_action of one of the other kinds. All may have visibility (private_agent, team, managers, org) and summary. Use only ids that are named above.
`
