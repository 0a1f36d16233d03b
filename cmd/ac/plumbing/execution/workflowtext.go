package execution

// Workflows and their runs as text.

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"ac/cmd/ac/cli"
	"ac/company/orchestration"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// writeWorkflow writes a template: its header, its nodes as a tree, and its missing agents.
func writeWorkflow(out io.Writer, found orchestration.GetWorkflowResult, checked orchestration.CheckWorkflowResult) error {
	fmt.Fprintf(out, "%s  %s\n", found.WorkflowID, cli.OneLine(found.Name))
	if found.Description != "" {
		fmt.Fprintf(out, "%s\n", cli.OneLine(found.Description))
	}
	for _, in := range found.Inputs {
		need := "optional"
		if in.Required {
			need = "required"
		}
		fmt.Fprintf(out, "input %s (%s)  %s\n", in.Name, need, cli.OneLine(in.Description))
	}
	template, err := doc.BindWorkflow(&found.Template)
	if err != nil {
		return err
	}
	writeNode(out, template.Root, "")
	for _, agent := range checked.Agents {
		if !agent.Available {
			fmt.Fprintf(out, "MISSING agent: no agent that may do jobs fits %s\n", cli.OneLine(cmp.Or(agent.AgentID, agent.Name, agent.Provider, "a task")))
		}
	}
	return nil
}

func writeNode(out io.Writer, n *doc.Node, indent string) {
	line := indent + n.Kind
	if n.Label() != n.Path {
		line += " " + n.Label()
	}
	if n.Task != nil {
		line += ": " + n.Task.Goal
	} else if n.Ask != nil {
		line += ": " + n.Ask.Prompt
	}
	fmt.Fprintln(out, terminal.Quote(clip(strings.Join(strings.Fields(line), " "), indent)))
	for _, child := range n.Steps {
		writeNode(out, child, indent+"  ")
	}
	if n.Observer != nil {
		writeNode(out, n.Observer, indent+"  ")
	}
}

// widest is the maximum number of characters shown of a node.
const widest = 100

// clip truncates a line and indents it.
func clip(line, indent string) string {
	runes := []rune(line)
	if len(runes) > widest {
		line = string(runes[:widest-1]) + "…"
	}
	return indent + line
}

// writeWorkflowStatus writes a run: its header, a line for each step, and what it waits for.
func writeWorkflowStatus(out io.Writer, dir string, s orchestration.WorkflowStatus) error {
	fmt.Fprintf(out, "%s  %s  %s  %d%%\n", s.RunID, cli.OneLine(cmp.Or(s.WorkflowID, "(own template)")), s.Status, s.Progress)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := range s.Steps {
		fmt.Fprintln(table, terminal.Quote(stepLine(&s.Steps[i])))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range s.Steps {
		if s.Steps[i].Text != "" {
			fmt.Fprintf(out, "--- %s %s\n%s\n", s.Steps[i].Step, cli.OneLine(s.Steps[i].Node), terminal.Quote(s.Steps[i].Text))
		}
	}
	writeOpen(out, dir, s)
	if s.Error != nil {
		fmt.Fprintf(out, "%s%s\n", s.Status, WhyOf(s.Error))
	}
	return nil
}

// stepLine returns a step as one line with tab-separated fields.
func stepLine(s *doc.FlowStep) string {
	line := fmt.Sprintf("  %s\t%s\t%s\t%s", s.Step, cli.OneLine(s.Node), cmp.Or(s.AgentID, "-"), s.Status)
	if s.Error != nil {
		line += "\t" + cli.OneLine(s.Error.Message)
	}
	return line
}

// WhyOf formats the error of a run as a suffix of its status.
func WhyOf(err *doc.FlowError) string {
	if err == nil {
		return ""
	}
	return ": " + err.Code + ": " + cli.OneLine(err.Message)
}

// writeOpen writes the commands that answer the questions a run waits for.
func writeOpen(out io.Writer, dir string, s orchestration.WorkflowStatus) {
	for _, step := range s.Steps {
		if step.Status == doc.StepWaiting {
			fmt.Fprintf(out, "step %s waits for an answer: ac run:answer %s %s --interaction %s --text \"...\"\n", step.Step, cli.OneLine(dir), s.RunID, step.InteractionID)
		}
	}
}

// StepWriter writes the steps of a run as they change.
type StepWriter struct {
	Out  io.Writer
	Dir  string
	Seen map[string]string // status by step
}

// Write writes the changes since the last status.
func (w *StepWriter) Write(s orchestration.WorkflowStatus) {
	if len(w.Seen) == 0 {
		fmt.Fprintf(w.Out, "run %s\n", s.RunID)
		w.Seen[""] = s.Status
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		if w.Seen[step.Step] == step.Status {
			continue
		}
		w.Seen[step.Step] = step.Status
		fmt.Fprintln(w.Out, terminal.Quote(strings.ReplaceAll(stepLine(step), "\t", "  ")))
		if step.Status == doc.StepWaiting {
			one := s
			one.Steps = s.Steps[i : i+1]
			writeOpen(w.Out, w.Dir, one)
		}
	}
}
