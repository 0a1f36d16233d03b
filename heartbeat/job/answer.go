package job

// Kinds of answers: what a job asks its worker for instead of a result, and how to read it from the
// output.

import (
	"strings"

	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// CodeDeclined is the error code of a job whose worker declined it.
const CodeDeclined = "worker_declined"

// answerKind returns the kind of answer that a job asks for, "" for a result or a report.
func answerKind(order *doc.JobOrder) string {
	if order == nil {
		return ""
	}
	return order.Answer
}

// checkAnswers returns the first value that is an answer of the job's kind. If there is none, it
// returns the issues of the first value tried. A value in which the worker declines is accepted.
func (job promptRequest) checkAnswers(values []shape.Value, id, run string) (*acceptedAnswer, []doc.JobError) {
	kind := answerKind(job.order)
	return firstValid(objectsOf(values), values, "answer", func(v shape.Value) (*acceptedAnswer, []doc.JobError) {
		v = withoutNulls(v)
		if why := strings.TrimSpace(v.Get("cannot").Text); why != "" {
			return acceptDecline(why, id, run), nil
		}
		answer, err := doc.BindAnswer(kind, new(v.Without("cannot")))
		if err != nil {
			return nil, issuesOf(err, "answer")
		}
		if issues := job.misplaced(answer); len(issues) > 0 {
			return nil, issues
		}
		return acceptAnswer(kind, answer, id, run), nil
	})
}

// acceptDecline returns the end for a worker that declined. There is no further attempt.
func acceptDecline(why, id, run string) *acceptedAnswer {
	result := withError(blank(doc.ResultBlocked, cut("The worker declined: "+why, digestSummary)), CodeDeclined, why,
		"Change the goal, or give the job to another worker.")
	result.JobID, result.AttemptRunID = id, run
	return &acceptedAnswer{result: result}
}

// acceptAnswer returns an accepted answer, with the result that represents it.
func acceptAnswer(kind string, answer doc.Answer, id, run string) *acceptedAnswer {
	result := blank(doc.ResultSucceeded, summaryOf(answer))
	result.JobID, result.AttemptRunID = id, run
	result.Artifacts = []doc.JobArtifact{{Relpath: "jobs/" + id + "/answer.json", Kind: "job_answer"}}
	return &acceptedAnswer{result: result, answer: &doc.JobAnswer{
		SchemaVersion: doc.Version, Type: "job_answer", JobID: id, AttemptRunID: run, Kind: kind, Answer: answer,
	}}
}

// summaryOf returns a short form of an answer: its own summary, else the beginning of its text.
func summaryOf(a doc.Answer) string {
	summary := ""
	switch {
	case a.Text != nil:
		summary = a.Text.Summary
	case a.Files != nil:
		summary = a.Files.Summary
	case a.Review != nil:
		summary = a.Review.Summary
	}
	if strings.TrimSpace(summary) == "" {
		runes := []rune(a.PlainText())
		summary = string(runes[:min(len(runes), digestSummary)])
	}
	if strings.TrimSpace(summary) == "" {
		return "The worker answered without any words."
	}
	return summary
}

// judgeProse accepts an agent's last message as the answer. Nothing shows whether such a text is
// complete, so the attempt's session must have ended normally.
func judgeProse(w *workspace.Workspace, p jobRef, a doc.JobAttempt) answerVerdict {
	if a.Status != doc.AttemptEnded {
		return answerVerdict{issues: []doc.JobError{{Code: CodeAttemptFailed, Message: a.Error}}}
	}
	text := ""
	names := []string{"last_message.md", "stdout.txt"}
	switch {
	case wasSpoken(w, p.project, a.RunID):
		names = names[:1]
	case wasCommand(w, p.project, a.RunID):
		names = names[1:]
	}
	for _, name := range names {
		if text = outputFile(w, p.project, a.RunID, name); strings.TrimSpace(text) != "" {
			if doc.AnyWorkerKindOf(a.Provider) != doc.WorkerCmd {
				text = textOf(name, a.Provider, text)
			}
			break
		}
	}
	if printed, ok := lastPrinted(w, p.project, a.RunID); ok {
		text = printed
	}
	text = strings.TrimSuffix(text, "\n")
	return answerVerdict{accepted: acceptAnswer(doc.AnswerProse, doc.ProseAnswer(text), p.id, a.RunID), text: text}
}

// bareText accepts an output without any JSON object as the answer itself. It is the last resort
// for a job that asks for a text: only its last attempt uses it.
func bareText(values []shape.Value, text, id, run string) *acceptedAnswer {
	if len(objectsOf(values)) > 0 || strings.TrimSpace(text) == "" {
		return nil
	}
	answer, err := doc.BindAnswer(doc.AnswerText, &shape.Value{
		Kind: shape.Map, Keys: []string{"text"}, Items: []shape.Value{{Kind: shape.String, Text: strings.TrimSpace(text)}},
	})
	if err != nil {
		return nil
	}
	return acceptAnswer(doc.AnswerText, answer, id, run)
}
