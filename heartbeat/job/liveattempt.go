package job

// Attempts that are live sessions. They serve agents that speak ACP, agents that are commands,
// jobs that may ask a person, and jobs that answer in prose.

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

// liveSpec returns the live session for an attempt, nil for one that executes the command line of a
// CLI. Repairs and commands never ask a person.
func (r *runner) liveSpec(agent doc.Agent, before *previous) *runs.LiveSpec {
	if doc.AnyWorkerKindOf(agent.Provider) == doc.WorkerCmd {
		return &runs.LiveSpec{Driver: doc.LiveCommand}
	}
	known, o := doc.ProviderNamed(agent.Provider), r.job.order
	interactive := o != nil && o.Interactive && !before.repairable()
	prose := answerKind(o) == doc.AnswerProse
	if known.Live == "" || (!known.AlwaysLive && !interactive && !prose && doc.AnyWorkerKindOf(agent.Provider) != doc.WorkerACP) {
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
	if mode := r.flow.Mode; mode != "" && runpolicy.Permits(doc.Level(r.spec.PermissionLevel), mode) {
		live.Mode = mode
	}
	live.Workflow = r.asksFor()
	return live
}

// asksFor returns the workflow step that the job is, to show to the person who is asked.
func (r *runner) asksFor() *interaction.Workflow {
	i := slices.IndexFunc(r.flow.Steps, func(s doc.FlowStep) bool { return s.JobID == r.id })
	if i < 0 {
		return nil
	}
	s := r.flow.Steps[i]
	return &interaction.Workflow{RunID: r.flow.RunID, Step: s.Step, Name: s.Node}
}

// enforced reports whether an agent's attempts enforce the mode and the rules of an order.
func enforced(provider string, o *doc.JobOrder) bool {
	return o.Interactive && doc.ProviderNamed(provider).Live != ""
}

// guardedCommand returns the command line whose program the guard judges, nil for the program that the
// machine has for the provider.
func guardedCommand(machine doc.Machine, agent doc.Agent, live *runs.LiveSpec) []string {
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

// ownWords returns the command line in an ACP agent's launcher, nil if the machine or the provider
// defines one.
func ownWords(machine doc.Machine, agent doc.Agent) []string {
	if len(machine.AgentCommands[agent.Provider]) > 0 || len(doc.ProviderNamed(agent.Provider).LiveArgs) > 0 {
		return nil
	}
	return agent.LauncherTexts("command_argv_template")
}

// OpenJob is the detail of fault.RunOwnedByJob.
type OpenJob struct {
	JobID string `json:"job_id"`
}

// CheckContinuable refuses to continue the run of an attempt whose job is not over, because the job
// decides what follows. If the attempt is still working, the run's own rules apply instead.
func CheckContinuable(w *workspace.Workspace, project, run string) error {
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

// wasSpoken reports whether an attempt spoke a protocol. Its answer is then only the agent's last
// message, not the rest of its output.
func wasSpoken(w *workspace.Workspace, project, run string) bool {
	driver := driverOf(w, project, run)
	return driver != "" && driver != doc.LiveCommand
}

// wasCommand reports whether an attempt was a live session of a command.
func wasCommand(w *workspace.Workspace, project, run string) bool {
	return driverOf(w, project, run) == doc.LiveCommand
}

// driverOf returns the driver of an attempt's live session, "" if it was none.
func driverOf(w *workspace.Workspace, project, run string) string {
	record, err := runs.Load(w, project, run)
	if err != nil || record.Live == nil {
		return ""
	}
	return record.Live.Driver
}

// lastPrinted returns what a command printed in the last turn of its session. ok is false for a
// session of one turn, whose output files hold just that turn.
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
