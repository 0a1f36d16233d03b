package pipeline

// Client intake: a project with the plans of all departments. The plans need the CEO's approval
// before anybody works on them.

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"ac/governance"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/internal/redact"
	"ac/pm"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// ClientSpec is what a client wants, and who leads the work on it.
type ClientSpec struct {
	Name             string
	CEOActor         string
	ExecutiveManager string // id of an agent
	Text             string // "" for a default sentence
	File             string // replaces Text; relative to the workspace
	Model            string // "" to leave the drafts unfilled
}

// ClientIntake is a project that waits for approval.
type ClientIntake struct {
	ProjectID     string            `json:"project_id"`
	Artifacts     ClientArtifacts   `json:"artifacts"`
	Plans         map[string]string `json:"department_plan_artifact_ids"`
	DirectorTasks map[string]string `json:"director_task_ids"`
	Tasks         []string          `json:"assigned_task_ids"`
	Meeting       string            `json:"meeting_conversation_id"`
	Generation    Generation        `json:"generation"`
	Redactions    int               `json:"redaction_count"`
}

// ClientArtifacts are the artifacts of the project as a whole.
type ClientArtifacts struct {
	IntakeBrief   string `json:"intake_brief_artifact_id"`
	ExecutivePlan string `json:"executive_plan_artifact_id"`
	Transcript    string `json:"meeting_transcript_artifact_id"`
	Approval      string `json:"approval_artifact_id"`
}

// Generation describes how the plans were written.
type Generation struct {
	Mode      string   `json:"mode"`
	Attempted int      `json:"attempted"`
	Succeeded int      `json:"succeeded"`
	Failed    int      `json:"failed"`
	Failures  []string `json:"failure_artifact_ids"`
	AuditLog  string   `json:"audit_log_relpath"`
}

// Modes of a generation.
const (
	deterministic = "deterministic"
	withFallback  = "provider_with_fallback"
)

// maxIntake bounds the file of an intake, in bytes.
const maxIntake = 1 << 20

// noIntake replaces the text of a client who has not described the request.
const noIntake = "The client has not described the request yet. Clarify goals and scope first."

// TakeInClient creates the project, its artifacts and its tasks in one unit. With a model, it
// then has agents write the plans. The proposal for the CEO comes last. Everything written is
// durable on return. Failed fills are counted and leave the drafts.
func TakeInClient(ctx context.Context, w *workspace.Workspace, conductor runs.Conductor, spec ClientSpec) (ClientIntake, error) {
	c := &client{ClientSpec: spec, w: w, conductor: conductor}
	if err := c.prepare(); err != nil {
		return c.made, err
	}
	err := w.Update(ctx, func(u *workspace.Unit) error {
		made, err := u.CreateProject(workspace.ProjectSpec{
			Name: spec.Name, CEOActor: spec.CEOActor, ExecutiveManager: spec.ExecutiveManager,
			Fill: func(project string, tree *workspace.Tree) error { return c.build(project, tree) },
		})
		c.made.ProjectID = made.ID
		return err
	})
	if err != nil || spec.Model == "" {
		return c.made, err
	}
	c.made.Generation.Mode = withFallback
	// No lock is held while agents write. The proposal follows whether or not they succeed.
	if waiting, done, err := inflight.Wait(ctx); err == nil {
		c.generate(waiting)
		done()
	} else {
		c.log = append(c.log, fillLine{Event: "provider_fill_skipped", Reason: err.Error()})
	}
	return c.made, w.Update(context.WithoutCancel(ctx), c.finish)
}

// client is an intake in progress.
type client struct {
	ClientSpec
	w           *workspace.Workspace
	env         workspace.Env // its clock is stopped while documents are created
	conductor   runs.Conductor
	executive   doc.Agent
	departments []department
	files       map[string]string // artifact texts by id
	made        ClientIntake
	log         []fillLine
}

// department is a director with a team, and what is created for it.
type department struct {
	key, label string
	director   doc.Agent
	plan, task string
}

// prepare checks and reads everything that the intake is built from.
func (c *client) prepare() (err error) {
	if c.executive, err = c.w.Agent(c.ExecutiveManager); err != nil {
		return err
	}
	if c.executive.Role != "manager" {
		return fault.New(fault.Conflict, "%s is a %s; the executive manager must be a manager", c.ExecutiveManager, c.executive.Role)
	}
	if strings.TrimSpace(c.File) != "" {
		if c.Text, err = c.readIntake(); err != nil {
			return err
		}
	}
	text, found := redact.WithMatches(c.Text)
	c.Text, c.made.Redactions = text, found.Total()
	if strings.TrimSpace(c.Text) == "" {
		c.Text = noIntake
	}
	c.departments, err = departments(c.w)
	return err
}

func (c *client) readIntake() (string, error) {
	name := path.Clean(c.File)
	if !runs.Local(c.File) {
		return "", fault.InvalidField("intake_file", "must be relative and stay inside the workspace")
	}
	text, err := durable.ReadFile(c.w.FS, name, maxIntake)
	if err != nil {
		return "", fault.New(fault.InvalidFile, "intake_file %s cannot be read: it must be a regular file of the workspace of at most %d bytes", name, maxIntake)
	}
	if !utf8.Valid(text) {
		return "", fault.New(fault.InvalidFile, "intake_file %s is not UTF-8", name)
	}
	return string(text), nil
}

// departments returns the directors that have a team, ordered by name, each with a unique key.
func departments(w *workspace.Workspace) (list []department, err error) {
	agents, err := w.Agents()
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, a := range agents {
		if a.Role != "director" || a.TeamID == "" || !workspace.SafeID(a.TeamID) {
			continue
		}
		team, err := w.Team(a.TeamID)
		if err != nil {
			continue // skip unreadable teams
		}
		d := department{director: a, label: plain(team.Name), key: team.DepartmentKey}
		if team.DepartmentLabel != "" {
			d.label = plain(team.DepartmentLabel)
		}
		if d.key == "" {
			d.key = strings.Join(strings.Fields(strings.ToLower(team.Name)), "_")
		}
		if d.key == "" {
			d.key = a.ID
		}
		base := d.key
		for n := 2; taken[d.key]; n++ {
			d.key = fmt.Sprintf("%s_%d", base, n)
		}
		taken[d.key] = true
		list = append(list, d)
	}
	return list, nil
}

// build puts the artifacts and tasks into the directory of the project.
func (c *client) build(project string, tree *workspace.Tree) error {
	c.made = ClientIntake{
		ProjectID: project, Plans: map[string]string{}, DirectorTasks: map[string]string{}, Tasks: []string{},
		Meeting: workspace.PlanningCouncilID(project), Redactions: c.made.Redactions,
		Generation: Generation{Mode: deterministic, Failures: []string{}},
	}
	c.files, c.env = map[string]string{}, c.w.Env
	c.env.Clock = c.env.Clock.Stopped()
	b := intakeBuilder{w: c.w, name: c.Name, made: Intake{ProjectID: project}, tree: *tree}
	var err error
	if c.made.Artifacts.IntakeBrief, err = c.artifact(&b, "intake_brief", "Client Intake: "+c.Name, "org", c.CEOActor, briefBody(c.Text)); err != nil {
		return err
	}
	for i := range c.departments {
		if err := c.department(&b, &c.departments[i]); err != nil {
			return err
		}
	}
	if c.made.Artifacts.ExecutivePlan, err = c.artifact(&b, "executive_plan", "Executive Plan: "+c.Name, "managers", c.executive.ID, planBody(c.departments)); err != nil {
		return err
	}
	title := "Planning Council Transcript: " + c.Name
	if c.made.Artifacts.Transcript, err = c.artifact(&b, "meeting_transcript", title, "managers", c.executive.ID, transcriptBody(c.CEOActor, c.executive, c.departments)); err != nil {
		return err
	}
	c.made.Generation.AuditLog = freeLog(c.w, project, "client_intake_generation")
	if c.Model == "" {
		err = c.conclude(func(name string, text []byte) error {
			b.add(name, text)
			return nil
		})
	}
	*tree = b.tree
	return err
}

// conclude writes the log and then the proposal.
func (c *client) conclude(write func(name string, text []byte) error) error {
	if c.Model == "" {
		c.log = append(c.log, fillLine{Event: "provider_fill_skipped", Reason: "model_not_provided"})
	}
	text, err := logText(c.w, c.log)
	if err == nil {
		err = write(c.made.Generation.AuditLog, text)
	}
	if err != nil {
		return err
	}
	plan := c.made.Artifacts.ExecutivePlan
	id, record, err := governance.PlanProposal(c.env, c.made.ProjectID, c.Name, c.executive.ID, plan, []byte(c.files[plan]))
	if err != nil {
		return err
	}
	c.made.Artifacts.Approval = id
	return write(governance.ArtifactFile(c.made.ProjectID, id), record)
}

// finish is conclude in a unit of its own, for the current text of the plan.
func (c *client) finish(u *workspace.Unit) error {
	plan, err := u.Read(governance.ArtifactFile(c.made.ProjectID, c.made.Artifacts.ExecutivePlan))
	if err != nil {
		return err
	}
	c.files[c.made.Artifacts.ExecutivePlan], c.env = string(plan), c.w.Env
	return c.conclude(func(name string, text []byte) error { return u.Write(name, text, 0o644) })
}

// department creates the plan and the task of a department.
func (c *client) department(b *intakeBuilder, d *department) (err error) {
	if d.plan, err = c.artifact(b, "department_plan", d.label+" Department Plan", "managers", d.director.ID, departmentBody(*d)); err != nil {
		return err
	}
	task, text, err := pm.DraftTask(c.env, c.made.ProjectID, pm.TaskSpec{
		Title: d.label + ": Director Planning and Task Contract", Visibility: "managers", TeamID: d.director.TeamID, AssigneeID: d.director.ID,
	}, []doc.Milestone{{
		Title: "Department plan", Kind: "planning", Status: "ready",
		AcceptanceCriteria: []string{"Department plan reference: " + d.plan, "Dependencies are documented.", "Risks are documented."},
	}}, "- department_plan: `"+d.plan+"`\n")
	if err != nil {
		return err
	}
	b.add(workspace.TaskFile(c.made.ProjectID, task.ID), text)
	d.task = task.ID
	c.made.Plans[d.key], c.made.DirectorTasks[d.key] = d.plan, d.task
	c.made.Tasks = append(c.made.Tasks, d.task)
	return nil
}

// artifact adds an artifact with its body.
func (c *client) artifact(b *intakeBuilder, kind, title, visibility, by, body string) (id string, err error) {
	head := governance.ArtifactSpec{Type: kind, Title: title, Visibility: visibility, ProducedBy: by}.Head(c.env)
	if err := doc.CheckTitle(title); err != nil {
		return "", err
	}
	text, err := governance.WriteRecord(doc.ArtifactCodec, head, []byte("# "+title+"\n\n"+body))
	b.add(governance.ArtifactFile(c.made.ProjectID, head.ID), text)
	c.files[head.ID] = string(text)
	return head.ID, err
}

// generate has agents write the plans, one after the other.
func (c *client) generate(ctx context.Context) {
	about := " of the project " + c.Name + ". The client's request:\n\n" + c.Text
	c.fill(ctx, fillLine{Kind: "executive_plan", ArtifactID: c.made.Artifacts.ExecutivePlan, AgentID: c.executive.ID}, "Write the executive plan"+about)
	c.fill(ctx, fillLine{Kind: "meeting_transcript", ArtifactID: c.made.Artifacts.Transcript, AgentID: c.executive.ID},
		"Prepare the planning council"+about+"\n\nThe council has not met. Report no discussion that was not held.")
	for _, d := range c.departments {
		c.fill(ctx, fillLine{Kind: "department_plan", Department: d.key, ArtifactID: d.plan, AgentID: d.director.ID}, "Write the plan of the department "+d.label+about)
	}
}

// fill has an agent write one artifact, and records the outcome.
func (c *client) fill(ctx context.Context, line fillLine, prompt string) {
	g := &c.made.Generation
	g.Attempted++
	filled, err := Fill(ctx, c.w, c.conductor, FillSpec{ProjectID: c.made.ProjectID, ArtifactID: line.ArtifactID, AgentID: line.AgentID, Model: c.Model, Prompt: prompt})
	if err != nil {
		filled.OK, filled.Error = false, err.Error()
	}
	line.TS, line.Event, line.Error = clock.Stamp(c.w.Env.Clock.Now()), "provider_fill_succeeded", filled.Error
	line.RunID, line.ContextPackID, line.FailureID = filled.RunID, filled.ContextPackID, filled.FailureArtifactID
	if filled.OK {
		g.Succeeded++
	} else {
		g.Failed++
		line.Event = "provider_fill_failed"
	}
	if line.FailureID != "" {
		g.Failures = append(g.Failures, line.FailureID)
	}
	c.log = append(c.log, line)
}
