package founding

// Workflows of a new company: something to run on the first day, and examples of the format.

import (
	"fmt"
	"strings"

	"ac/workspace"
	"ac/workspace/doc"
)

// workflows writes three templates for the new agents: a text that is checked until it is
// good, the views of several departments on one question, and a lead that hands out work.
func (m *maker) workflows(made Company) {
	if m.err != nil {
		return
	}
	first := made.Departments[0]
	lead := first.ManagerAgentID
	if made.Leaders.Director != "" {
		lead = made.Leaders.Director
	}
	templates := map[string]string{
		"draft-and-check": fmt.Sprintf(draftAndCheck, first.WorkerAgentID, first.ManagerAgentID),
	}
	var views, workers strings.Builder
	for _, d := range made.Departments[:min(len(made.Departments), maxTogether)] {
		fmt.Fprintf(&views, "        - {kind: task, name: %s, agent: {agent_id: %s}, goal: \"Answer from the view of %s: {{input}}\"}\n", d.Key, d.ManagerAgentID, d.Key)
		fmt.Fprintf(&workers, "    - {kind: task, id: %s, name: %s, agent: {agent_id: %s}}\n", d.Key, d.Key, d.WorkerAgentID)
	}
	templates["several-views"] = fmt.Sprintf(severalViews, views.String(), lead)
	templates["plan-and-do"] = fmt.Sprintf(planAndDo, lead, workers.String())
	m.err = m.w.Update(m.ctx, func(u *workspace.Unit) error {
		for _, slug := range []string{"draft-and-check", "plan-and-do", "several-views"} {
			text := []byte(templates[slug])
			if _, err := doc.DecodeWorkflow(text); err != nil {
				return fmt.Errorf("the workflow %s: %w", slug, err)
			}
			if err := u.Write(workspace.WorkflowFile("work", slug), text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxTogether bounds the departments in a flow, as many as a node may have children in
// parallel.
const maxTogether = 16

const draftAndCheck = `schema_version: 1
type: workflow
id: work:draft-and-check
name: Draft and check
description: A worker writes, the manager accepts it or sends it back, three times at most.
inputs:
  - {name: topic, required: true, description: What is to be written}
permission_level: read-only
flow:
  kind: maker_checker
  rounds: 3
  maker:
    kind: task
    id: write
    agent: {agent_id: %s}
    remember: true
    goal: "Write this: {{inputs.topic}}\nWhat was wrong with the draft before, if there was one:\n{{feedback}}"
  checker:
    kind: task
    id: check
    agent: {agent_id: %s}
    goal: "Approve the text if it does what was asked: {{inputs.topic}}\nElse say exactly what is to be changed."
`

const severalViews = `schema_version: 1
type: workflow
id: work:several-views
name: Several views on one question
description: The managers of all departments answer side by side; one of them sums up.
permission_level: read-only
flow:
  kind: sequence
  steps:
    - {kind: input, prompt: "What is the question?"}
    - kind: parallel
      steps:
%s    - kind: task
      id: sum
      agent: {agent_id: %s}
      goal: "Sum up these answers in one page. Say where they differ.\n{{input}}"
`

const planAndDo = `schema_version: 1
type: workflow
id: work:plan-and-do
name: Plan and do
description: A lead hands tasks out to the workers of the departments until the goal is reached.
permission_level: read-only
flow:
  kind: supervisor
  rounds: 6
  supervisor:
    kind: task
    id: lead
    agent: {agent_id: %s}
    goal: "Reach this goal with the workers that you have. Be done as soon as it is reached: {{input}}"
  workers:
%s`
