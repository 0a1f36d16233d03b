package autonoma

// The output of a task as one text.

import (
	"context"
	"fmt"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// maxOutput bounds the output of a task, in bytes. The oldest lines are dropped.
const maxOutput = 1 << 20

func taskOutput(ctx context.Context, c *call, p taskParams) (any, error) {
	s := c.server
	e, err := s.find(ctx, p.TaskID)
	if fault.Is(err, fault.NotFound) {
		return nil, protocolError("unknown task: " + p.TaskID)
	}
	if err != nil {
		return nil, err
	}
	c.logID = logID(e.run)
	text, err := s.output(ctx, e)
	return cutFront(text, maxOutput), err
}

// output returns what the attempts of a task printed, the questions they wait for, and the answer.
func (s *server) output(ctx context.Context, e execution) (string, error) {
	var b strings.Builder
	if e.flow != nil {
		for _, step := range e.flow.Steps {
			fmt.Fprintf(&b, "== step %s: %s, %s\n", step.Step, step.AgentID, step.Status)
			writeLines(&b, step.Text)
		}
	} else {
		for _, a := range e.record.Attempts {
			if err := s.attemptOutput(ctx, &b, a); err != nil {
				return "", err
			}
		}
	}
	switch {
	case !e.over:
	case e.succeeded:
		b.WriteString("== answer\n")
		writeLines(&b, answerText(e))
	case e.record == nil || len(e.record.Attempts) == 0:
		fmt.Fprintf(&b, "== failed: %s\n", e.failure)
	}
	return b.String(), nil
}

func (s *server) attemptOutput(ctx context.Context, b *strings.Builder, a doc.JobAttempt) error {
	fmt.Fprintf(b, "== attempt %d: %s, %s, %s\n", a.Attempt, a.WorkerAgentID, a.Provider, a.RunID)
	printed, err := dialect.Do(ctx, s.Company, orchestration.Operations.Output, orchestration.RunOutputParams{
		Dir: s.In(), ProjectID: s.ProjectID, RunID: a.RunID, Limit: maxOutput, Tail: true,
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	writeLines(b, printed.Text)
	if a.Status == doc.AttemptRunning {
		open, err := dialect.Do(ctx, s.Company, orchestration.Operations.ListInteractions, orchestration.ListInteractionsParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: a.RunID})
		if err != nil {
			return err
		}
		for _, waits := range open.Interactions {
			fmt.Fprintf(b, "[waiting: %s; answer it in ac's inbox]\n", waits.Title)
		}
	}
	if a.Error != "" {
		fmt.Fprintf(b, "== failed: %s\n", a.Error)
	}
	return nil
}

// answerText returns an answer in words: its text, its findings, or the paths of its files.
func answerText(e execution) string {
	if e.answer == nil {
		return e.text
	}
	var b strings.Builder
	switch answer := e.answer.Answer; {
	case answer.Review != nil:
		b.WriteString(answer.Review.Summary + "\n")
		for _, issue := range answer.Review.Issues {
			fmt.Fprintf(&b, "%s: %s\n", issue.Severity, issue.Message)
		}
	case answer.Files != nil:
		for _, f := range answer.Files.Files {
			b.WriteString(f.Path + "\n")
		}
	default:
		b.WriteString(e.text)
	}
	return b.String()
}

// writeLines writes a text and ends it with a line break.
func writeLines(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// cutFront drops whole lines from the front of a text to fit a size. A first line reports how much
// is missing.
func cutFront(text string, size int) string {
	if len(text) <= size {
		return text
	}
	const room = 100 // for that line
	cut := len(text) - size + room
	if end := strings.IndexByte(text[cut:], '\n'); end >= 0 {
		cut += end + 1
	}
	return fmt.Sprintf("[... %d bytes before this are left out]\n", cut) + strings.ToValidUTF8(text[cut:], "")
}
