package job

// Prompts for workers. The labels are part of the interface: workers and tools depend on them.

import (
	"fmt"
	"strings"

	"ac/heartbeat/answer"
	"ac/workspace/doc"
)

// promptRequest is the request behind a prompt: a job and its order, if it has one. mark is a new
// id, so that no attachment can contain it.
type promptRequest struct {
	spec  doc.JobSpec
	order *doc.JobOrder
	last  int // the number of its last attempt
	mark  string
}

// promptRequestOf returns the request in a record.
func promptRequestOf(record doc.Job) promptRequest {
	return promptRequest{spec: record.Job, order: record.Order, last: attemptsOf(record)}
}

// previous describes the previous attempt for a prompt.
type previous struct {
	run    string
	failed string // why it did not end normally, "" if it did
	judged answerVerdict
}

// repairable reports whether the previous attempt left something to repair.
func (p *previous) repairable() bool {
	return p != nil && p.failed == "" && strings.TrimSpace(p.judged.text) != ""
}

// maxPrevious bounds the output in a repair prompt, in characters.
const maxPrevious = 8000

// prompt returns the prompt of an attempt.
func prompt(job promptRequest, attempt int, run string, before *previous) string {
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

// writeRepairPrompt asks for the answer of the previous attempt in the right format.
func writeRepairPrompt(b *strings.Builder, job promptRequest, attempt int, run string, before *previous) {
	kind := answerKind(job.order)
	if job.spec.JobKind == doc.JobHeartbeat {
		b.WriteString("Your answer to a heartbeat was not a valid report. Repair it.\n")
		b.WriteString(demand("one heartbeat report"))
		writeRepair(b, job.spec, run, *before)
		b.WriteString(answer.ReportExample)
		return
	}
	if attempt == maxAttempts {
		b.WriteString("You are a strict reformatter: you bring the output of another worker into shape and invent no facts.\n")
	}
	if kind != "" {
		fmt.Fprintf(b, "The output of the attempt before is not a valid answer of kind %s. Repair it.\n", kind)
		b.WriteString(demand("one answer of kind " + kind))
		writeRepair(b, job.spec, before.run, *before)
		b.WriteString(answer.KindExample(kind))
		return
	}
	b.WriteString("The output of the attempt before is not a valid result. Repair it.\n")
	b.WriteString(demand("one result"))
	writeRepair(b, job.spec, before.run, *before)
	b.WriteString(answer.ResultExample(job.spec.JobID, before.run))
}

// writeAnswerPrompt asks for an answer of the order's kind.
func writeAnswerPrompt(b *strings.Builder, job promptRequest, run string) {
	kind := answerKind(job.order)
	b.WriteString("You are a worker. Do the job below, then answer it.\n")
	b.WriteString(demand("one answer of kind " + kind))
	writeJob(b, job, run)
	b.WriteString(answer.KindExample(kind))
}

// writeAttachments writes the attachments of an order, each between two lines that name it.
func writeAttachments(b *strings.Builder, job promptRequest) {
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

func writeInitial(b *strings.Builder, job promptRequest, run string) {
	spec := job.spec
	if spec.JobKind == doc.JobHeartbeat {
		b.WriteString("You answer a heartbeat of the company you work for. Look at what is due and propose actions only for concrete work.\n")
		b.WriteString(demand("one heartbeat report"))
		fmt.Fprintf(b, "job_id: %s\nattempt_run_id: %s\ngoal: %s\n", spec.JobID, run, spec.Goal)
		writeList(b, "constraints", spec.Constraints)
		writeRefs(b, spec.ContextRefs)
		b.WriteString(answer.ReportExample)
		return
	}
	b.WriteString("You are a worker. Do the job below, then report on it.\n")
	b.WriteString(demand("one result"))
	writeJob(b, job, run)
	b.WriteString(answer.ResultExample(spec.JobID, run))
}

// writeJob writes the job's task, under the labels of the interface.
func writeJob(b *strings.Builder, job promptRequest, run string) {
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
