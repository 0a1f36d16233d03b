package job

// Attempts that are live sessions: of agents that speak ACP, of those that are commands of
// their own documents, of jobs that may ask a person, and of those that answer in prose.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// spoken is the live session that an attempt is to be, nil for an attempt that executes
// the command line of a CLI. Repairs ask nobody, and commands never do.
func (r *runner) spoken(agent doc.Agent, before *previous) *runs.LiveSpec {
	if doc.AnyWorkerKindOf(agent.Provider) == doc.WorkerCmd {
		return &runs.LiveSpec{Driver: doc.LiveCommand}
	}
	known, o := doc.ProviderNamed(agent.Provider), r.job.order
	interactive := o != nil && o.Interactive && !before.repairable()
	prose := answerKind(o) == doc.AnswerProse
	if known.Live == "" || (!known.Spoken && !interactive && !prose && doc.AnyWorkerKindOf(agent.Provider) != doc.WorkerACP) {
		return nil
	}
	live := &runs.LiveSpec{Driver: known.Live}
	if !interactive {
		return live
	}
	live.Interactive, live.Mode = &interactive, cmp.Or(o.Mode, doc.ModeDefault)
	if len(o.Rules) > 0 {
		live.Rules = &o.Rules
	}
	if r.flow == nil {
		return live
	}
	live.First = r.flow.Rules
	if mode := r.flow.Mode; mode != "" && runpolicy.Bears(doc.Level(r.spec.PermissionLevel), mode) {
		live.Mode = mode
	}
	live.Workflow = r.asksFor()
	return live
}

// asksFor names the step of a workflow that the job is, for those who are asked.
func (r *runner) asksFor() *interaction.Workflow {
	i := slices.IndexFunc(r.flow.Steps, func(s doc.FlowStep) bool { return s.JobID == r.id })
	if i < 0 {
		return nil
	}
	s := r.flow.Steps[i]
	return &interaction.Workflow{RunID: r.flow.RunID, Step: s.Step, Name: s.Node}
}

// enforced reports whether an agent's attempts heed the mode and the rules of an order.
func enforced(provider string, o *doc.JobOrder) bool {
	return o.Interactive && doc.ProviderNamed(provider).Live != ""
}

// words is the command line whose program the guard judges, nil for the program that
// the machine has for the provider.
func words(machine doc.Machine, agent doc.Agent, live *runs.LiveSpec) []string {
	switch {
	case live == nil || live.Driver == doc.LiveCommand:
		return template(agent)
	case live.Driver != doc.LiveACP:
		return nil
	}
	if set := machine.AgentCommands[agent.Provider]; len(set) > 0 {
		return set
	}
	return ownWords(machine, agent)
}

// ownWords are the words of an ACP agent that nobody else named: its launcher's.
func ownWords(machine doc.Machine, agent doc.Agent) []string {
	if len(machine.AgentCommands[agent.Provider]) > 0 || len(doc.ProviderNamed(agent.Provider).LiveWords) > 0 {
		return nil
	}
	return agent.LauncherTexts("command_argv_template")
}

// OpenJob stands beside fault.RunOwnedByJob.
type OpenJob struct {
	JobID string `json:"job_id"`
}

// Continuable refuses the run of an attempt whose job is not over: that decides what
// comes after it. An attempt that is still at work is left to the run's own rules.
func Continuable(w *workspace.Workspace, project, run string) error {
	records, err := session.NamedAfter(w, run)
	if err != nil {
		return err
	}
	for _, r := range records {
		if id := OpenJobOf(w, project, r.Ref, run); id != "" && (doc.Terminal(r.Status) || !session.RunAlive(w, project, run)) {
			return fault.New(fault.RunOwnedByJob, "run %s is an attempt of job %s, which is not over", run, id).With(OpenJob{id})
		}
	}
	return nil
}

// wasSpoken reports whether an attempt spoke a protocol: its answer is what its agent said
// last, and nothing else that it printed.
func wasSpoken(w *workspace.Workspace, project, run string) bool {
	driver := driverOf(w, project, run)
	return driver != "" && driver != doc.LiveCommand
}

// wasCommand reports whether an attempt was a session of an agent that is a command.
func wasCommand(w *workspace.Workspace, project, run string) bool {
	return driverOf(w, project, run) == doc.LiveCommand
}

// driverOf is how the agent of an attempt was spoken with, "" for not at all.
func driverOf(w *workspace.Workspace, project, run string) string {
	record, err := runs.Load(w, project, run)
	if err != nil || record.Live == nil {
		return ""
	}
	return record.Live.Driver
}

// lastPrinted is what a command printed in the last turn of its session; ok is false for
// a session of one turn, whose output has nothing else.
func lastPrinted(w *workspace.Workspace, project, run string) (text string, ok bool) {
	record, err := runs.Load(w, project, run)
	if err != nil || record.Live == nil || record.Live.Driver != doc.LiveCommand || record.Live.Turns < 2 {
		return "", false
	}
	var printed []byte
	err = session.EachEvent(w, workspace.LogFile(project, run), func(kind string, line []byte) {
		var e struct {
			Payload struct {
				Stream string `json:"stream"`
				Chunk  string `json:"chunk"`
			} `json:"payload"`
		}
		switch {
		case kind == events.TurnStarted:
			printed = printed[:0]
		case kind == events.ProviderRaw && json.Unmarshal(line, &e) == nil && e.Payload.Stream == "stdout":
			printed = append(printed, e.Payload.Chunk...)
			printed = printed[max(0, len(printed)-maxOutput):]
		}
	})
	return strings.ToValidUTF8(string(printed), "\uFFFD"), err == nil
}
