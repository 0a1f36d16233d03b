package pipeline

// Filling one artifact: an agent's run whose answer replaces the artifact once the answer is
// complete.

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ac/events"
	"ac/governance"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// FillSpec describes what to fill, and by whom.
type FillSpec struct {
	ProjectID  string
	ArtifactID string
	AgentID    string
	Provider   string // "" for the agent's
	Model      string
	Prompt     string // additional instructions
	RepoID     string
	WorkdirRel string
}

// FillResult is the outcome of a fill. Error is the reason if OK is false.
type FillResult struct {
	OK                bool   `json:"ok"`
	Error             string `json:"error,omitempty"`
	RunID             string `json:"run_id,omitempty"`
	ContextPackID     string `json:"context_pack_id,omitempty"`
	ArtifactID        string `json:"artifact_id,omitempty"`
	ArtifactRelpath   string `json:"artifact_relpath,omitempty"`
	FailureArtifactID string `json:"failure_artifact_id,omitempty"`
}

// maxAnswer bounds the answer of an agent and the files that it is read from, in bytes.
const maxAnswer = yamldoc.MaxBytes

// filling is one fill in progress.
type filling struct {
	FillSpec
	w         *workspace.Workspace
	conductor runs.Conductor
	cli       provider.CLI
	machine   doc.Machine
	before    []byte       // the artifact before the fill
	head      doc.Artifact // front matter of the template, then of the answer
	filled    FillResult
}

// Fill has an agent write an artifact. Problems of the artifact or the answer are reported in the
// result and leave the artifact unchanged. A missing agent or provider is an error before any
// run. The run is over when Fill returns, unless ctx ended first: then it continues by itself and
// its answer is not used.
func Fill(ctx context.Context, w *workspace.Workspace, conductor runs.Conductor, spec FillSpec) (FillResult, error) {
	f := &filling{FillSpec: spec, w: w, conductor: conductor}
	if err := f.prepare(); err != nil {
		if refusal, ok := errors.AsType[refusal](err); ok {
			return FillResult{Error: refusal.Error()}, nil
		}
		return FillResult{}, err
	}
	made, err := runs.Create(ctx, w, spec.ProjectID, spec.AgentID, f.Provider)
	if err != nil {
		return FillResult{}, err
	}
	f.filled = FillResult{RunID: made.RunID, ContextPackID: made.ContextPackID}
	template, err := f.template(made)
	if err != nil {
		return f.filled, err
	}
	record, err := f.execute(ctx, string(prompt(template, spec.Prompt)))
	if err != nil {
		return f.filled, err
	}
	answer, err := f.answer(record)
	if err == nil {
		err = f.accept(ctx, answer)
	}
	if refusal, ok := errors.AsType[refusal](err); ok {
		return f.refused(ctx, refusal)
	}
	return f.filled, err
}

// refusal is the error of a fill that left the artifact unchanged.
type refusal struct {
	why string
	// report requests a failure report, because there is no answer at all.
	report bool
}

func (r refusal) Error() string { return r.why }

func refuse(report bool, format string, args ...any) error {
	return refusal{fmt.Sprintf(format, args...), report}
}

// prepare finds everything that a fill needs before its run.
func (f *filling) prepare() error {
	agent, err := f.w.Agent(f.AgentID)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "agent %s does not exist", f.AgentID)
	}
	if err != nil {
		return err
	}
	if f.Provider == "" {
		f.Provider = agent.Provider
	}
	if f.cli, err = provider.CLIOf(f.Provider); err != nil {
		return fault.New(fault.Unsupported, "%w", err)
	}
	if f.machine, err = f.w.Machine(); err != nil {
		return err
	}
	if _, err := f.w.Project(f.ProjectID); err != nil {
		return err
	}
	name := governance.ArtifactFile(f.ProjectID, f.ArtifactID)
	if f.before, err = f.w.Read(name); err != nil {
		return refuse(false, "%s", err)
	}
	if issues := governance.ValidateArtifact(f.before); len(issues) > 0 {
		return refuse(false, "%s is not valid: %s", name, described(issues))
	}
	record, err := governance.ParseRecord(name, f.before)
	if err != nil {
		return refuse(false, "%s", err)
	}
	if f.head, err = governance.DecodeItem(record, doc.ArtifactCodec); err != nil {
		return refuse(false, "%s", err)
	}
	if err := doc.CheckTitle(f.head.Title); err != nil {
		return refuse(false, "%s: title: must not contain a line break", name)
	}
	if slices.Contains([]string{"memory_delta", "milestone_report", "heartbeat_action_proposal"}, f.head.Type) {
		return refuse(false, "an artifact of type %s cannot be filled: fields of its own would be lost", f.head.Type)
	}
	return nil
}

func described(issues []frontmatter.Issue) string {
	lines := make([]string, len(issues))
	for i, issue := range issues {
		lines[i] = issue.Message
	}
	return strings.Join(lines, "; ")
}

// template returns the document that the agent is to fill.
func (f *filling) template(made runs.CreateResult) ([]byte, error) {
	f.head = governance.ArtifactSpec{
		ID: f.ArtifactID, Type: f.head.Type, Title: f.head.Title, Visibility: f.head.Visibility,
		ProducedBy: f.AgentID, RunID: made.RunID, ContextPackID: made.ContextPackID,
	}.Head(f.w.Env)
	return governance.Template(f.head)
}

// execute runs the agent's CLI to its end.
func (f *filling) execute(ctx context.Context, prompt string) (doc.Session, error) {
	call := f.cli.ForFilling(provider.Filling{
		Program: provider.Binary(f.machine, f.Provider), Model: provider.ModelFlag(f.Model), Prompt: prompt,
		Last: filepath.Join(f.w.Dir(), filepath.FromSlash(f.output("last_message.md"))), Trusted: f.trusted(),
	})
	record, err := f.conductor.Conduct(ctx, f.w, session.Order{
		ProjectID: f.ProjectID, RunID: f.filled.RunID, AgentID: f.AgentID, Provider: f.Provider, Argv: call.Argv,
		RepoID: f.RepoID, WorkdirRel: f.WorkdirRel, Stdin: call.Stdin,
	})
	if err == nil && !doc.Terminal(record.Status) {
		err = errors.New("the run is followed by another program: " + record.Error)
	}
	return record, err
}

// trusted reports whether somebody with the right to do so chose the agent's folder: it is the
// workspace, or a repository linked to the project.
func (f *filling) trusted() bool {
	if f.RepoID == "" {
		return true
	}
	links, err := f.w.RepoLinks(f.ProjectID)
	return err == nil && slices.ContainsFunc(links, func(l doc.RepoLink) bool { return l.RepoID == f.RepoID })
}

// output returns the path of a file in the run's outputs.
func (f *filling) output(name string) string {
	return path.Join(workspace.RunDir(f.ProjectID, f.filled.RunID), "outputs", name)
}

// answer reads the answer of the agent.
func (f *filling) answer(record doc.Session) (string, error) {
	switch {
	case record.Status == doc.StatusStopped:
		return "", refuse(false, "the run was stopped")
	case record.ExitCode == nil && record.Signal == nil:
		return "", refuse(true, "the command of %s could not run: %s", f.Provider, record.Error)
	case record.Signal != nil:
		return "", refuse(false, "the command of %s was ended by %s", f.Provider, *record.Signal)
	case *record.ExitCode != 0:
		why := fmt.Sprintf("the command of %s ended with exit status %d", f.Provider, *record.ExitCode)
		if record.Error != "" {
			why += ": " + record.Error
		}
		return "", refuse(false, "%s", why)
	case record.Error != "":
		return "", refuse(record.ErrorKind == "", "%s", record.Error)
	}
	var last, stdout []byte
	var err error
	if provider.DriverOf(f.Provider) == provider.Codex {
		if last, err = f.read("last_message.md"); err == nil && strings.TrimSpace(string(last)) == "" {
			err = provider.ErrNoAnswer
		}
	} else {
		stdout, err = f.read("stdout.txt")
	}
	if err != nil {
		return "", refuse(true, "the answer of %s cannot be read: %s", f.Provider, err)
	}
	answer, err := f.cli.Answer(string(stdout), string(last))
	if err != nil {
		return "", refuse(true, "the answer of %s cannot be read: %s", f.Provider, err)
	}
	// Decoding JSON may have revealed a secret: mask again.
	return f.conductor.MaskedArgv([]string{answer}, nil)[0], nil
}

func (f *filling) read(name string) ([]byte, error) {
	text, err := durable.ReadFile(f.w.FS, f.output(name), maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// accept replaces the artifact by an answer, once it has verified that the answer is the
// requested document.
func (f *filling) accept(ctx context.Context, answer string) error {
	if err := f.fits(answer); err != nil {
		return err
	}
	name := governance.ArtifactFile(f.ProjectID, f.ArtifactID)
	produced, err := governance.ArtifactProduced(f.w, f.head, name)
	if err != nil {
		return err
	}
	err = f.w.Update(ctx, func(u *workspace.Unit) error {
		now, err := u.Read(name)
		if err != nil {
			return refuse(false, "%s", err)
		}
		if string(now) != string(f.before) {
			return refuse(false, "%s was changed while it was being filled; it stays as it is", name)
		}
		if err := u.Write(name, []byte(answer), 0o644); err != nil {
			return err
		}
		u.Append(workspace.LogFile(f.ProjectID, f.filled.RunID), produced)
		return nil
	})
	if err == nil {
		f.filled.OK, f.filled.ArtifactID, f.filled.ArtifactRelpath = true, f.ArtifactID, name
	}
	return err
}

// fits checks an answer against the template.
func (f *filling) fits(answer string) error {
	if !utf8.ValidString(answer) {
		return refuse(false, "the answer is not valid UTF-8")
	}
	if issues := governance.ValidateArtifact([]byte(answer)); len(issues) > 0 {
		return refuse(false, "the answer is not a valid artifact: %s", described(issues))
	}
	record, err := governance.ParseRecord("the answer", []byte(answer))
	if err != nil {
		return refuse(false, "%s", err)
	}
	for _, field := range []struct{ name, want string }{
		{"id", f.head.ID}, {"type", f.head.Type}, {"title", f.head.Title}, {"visibility", f.head.Visibility},
		{"produced_by", f.head.ProducedBy}, {"run_id", f.head.RunID}, {"context_pack_id", f.head.ContextPackID},
	} {
		if got := record.String(field.name); got != field.want {
			return refuse(false, "the answer changes the front matter: %s is %q instead of %q", field.name, got, field.want)
		}
	}
	return nil
}

// refused returns the result of a fill that left the artifact unchanged. If there was no answer,
// it writes a failure report.
func (f *filling) refused(ctx context.Context, r refusal) (FillResult, error) {
	f.filled.Error = r.why
	if !r.report {
		return f.filled, nil
	}
	head := governance.ArtifactSpec{
		Type: "failure_report", Title: "Filling " + f.ArtifactID + " failed", Visibility: events.VisibilityManagers,
		ProducedBy: events.ActorSystem, RunID: f.filled.RunID, ContextPackID: f.filled.ContextPackID,
	}.Head(f.w.Env)
	name := governance.ArtifactFile(f.ProjectID, head.ID)
	text, err := governance.WriteRecord(doc.ArtifactCodec, head, []byte(f.report(head, r.why)))
	if err != nil {
		return f.filled, err
	}
	produced, err := governance.ArtifactProduced(f.w, head, name)
	if err != nil {
		return f.filled, err
	}
	err = f.w.Update(ctx, func(u *workspace.Unit) error {
		u.AppendBestEffort(workspace.LogFile(f.ProjectID, f.filled.RunID), produced)
		return governance.CreateArtifact(u, f.ProjectID, head.ID, text)
	})
	if err == nil {
		f.filled.FailureArtifactID = head.ID
	}
	return f.filled, err
}

// report returns the body of a failure report.
func (f *filling) report(head doc.Artifact, why string) string {
	why = strings.Join(strings.Fields(why), " ")
	return fmt.Sprintf(`# %s

## Summary

- artifact_id: %s
- agent_id: %s
- provider: %s
- run_id: %s

## Cause

%s

## Next Steps

- Read what the command printed: %s.
- Check the provider's program in the machine overlay, then fill the artifact again. It is as it was.
`, head.Title, f.ArtifactID, f.AgentID, f.Provider, f.filled.RunID, why, path.Dir(f.output("stdout.txt")))
}
