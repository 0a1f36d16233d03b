package pipeline_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/governance"
	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestFill checks that every CLI can fill an artifact, with short and long prompts.
func TestFill(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, spec := range []pipeline.FillSpec{
		{AgentID: c.codex}, {AgentID: c.claude, Model: "opus"}, {AgentID: c.gem}, {AgentID: c.unreachable, Provider: "claude-code"},
		{AgentID: c.gem, Prompt: strings.Repeat("long ", 30_000)}, {AgentID: c.claude, Prompt: strings.Repeat("long ", 30_000)},
		{AgentID: c.codex, Prompt: "DO(extra)"}, {AgentID: c.codex, Prompt: "DO(crlf)"}, {AgentID: c.codex, Provider: "codex_app_server"},
	} {
		var name string
		spec.ArtifactID, name = c.artifact("intake_brief")
		got, err := c.fill(spec)
		if err != nil || !got.OK || got.ArtifactID != spec.ArtifactID || got.ArtifactRelpath != name || got.Error != "" {
			t.Errorf("%.80v: %+v (%v)", spec, got, err)
			continue
		}
		text, err := c.Read(name)
		if err != nil || !strings.Contains(string(text), "Written by an agent, \"quoted\", with \\ and an é.") || !strings.Contains(string(text), "produced_by: "+spec.AgentID) {
			t.Errorf("%s (%v)", text, err)
		}
		if types := c.types(got.RunID); types[len(types)-1] != events.ArtifactProduced || types[len(types)-2] != events.RunEnded {
			t.Errorf("events: %v", types)
		}
		run, err := runs.Load(c.Workspace, c.project, got.RunID)
		if err != nil || run.Spec == nil || run.Usage == nil || run.AgentID != spec.AgentID {
			t.Errorf("the run: %+v (%v)", run, err)
		}
	}
	c.sound()
}

// TestRefusedAnswers checks that an answer other than the requested document leaves the artifact
// unchanged. A failure report remains only if there was no answer to read.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, tt := range []struct {
		do     string
		agent  string
		says   string
		report bool
	}{
		{"fail", c.codex, "exit status 3", false},
		{"die", c.claude, "SIGKILL", false},
		{"empty", c.codex, "cannot be read", true},
		{"empty", c.claude, "cannot be read", true},
		{"empty", c.gem, "cannot be read", true},
		{"blank", c.codex, "cannot be read", true},
		{"fenced", c.gem, "missing_frontmatter", false},
		{"talk", c.claude, "missing_frontmatter", false},
		{"partial", c.codex, "missing_heading", false},
		{"headless", c.codex, "missing_frontmatter", false},
		{"bare", c.codex, "missing_heading", false},
		{"id", c.codex, "id is", false},
		{"type", c.codex, "", false},
		{"title", c.codex, "title is", false},
		{"visibility", c.codex, "visibility is", false},
		{"produced_by", c.codex, "produced_by is", false},
		{"run_id", c.codex, "run_id is", false},
		{"context_pack_id", c.codex, "context_pack_id is", false},
		{"binary", c.codex, "", false},
	} {
		t.Run(tt.do, func(t *testing.T) {
			id, name := c.artifact("intake_brief")
			before, err := c.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.fill(pipeline.FillSpec{ArtifactID: id, AgentID: tt.agent, Prompt: "DO(" + tt.do + ")"})
			if err != nil || got.OK || !strings.Contains(got.Error, tt.says) || got.RunID == "" || got.ContextPackID == "" || got.ArtifactID != "" {
				t.Errorf("%+v (%v)", got, err)
			}
			if (got.FailureArtifactID != "") != tt.report {
				t.Errorf("report %q", got.FailureArtifactID)
			}
			if after, err := c.Read(name); err != nil || string(after) != string(before) {
				t.Errorf("the artifact changed: %s (%v)", after, err)
			}
			if tt.report {
				c.reported(t, got)
			}
		})
	}
	c.sound()
}

// reported checks the failure report of a fill without an answer.
func (c *company) reported(t *testing.T, got pipeline.FillResult) {
	t.Helper()
	record, err := governance.ReadArtifact(c, c.project, got.FailureArtifactID)
	if err != nil || len(governance.ValidateArtifact(record.Text)) > 0 {
		t.Fatalf("%s (%v)", record.Text, err)
	}
	if record.String("type") != "failure_report" || record.String("produced_by") != "system" || record.String("visibility") != "managers" || record.String("run_id") != got.RunID {
		t.Errorf("%s", record.Head)
	}
	for _, heading := range doc.Headings("failure_report") {
		if strings.Count(string(record.Body), "\n"+heading+"\n") != 1 {
			t.Errorf("%s stands more than once, or not at all:\n%s", heading, record.Body)
		}
	}
}

// TestFillsThatCannotBegin checks which fills are refused before a run exists and which fail with
// one.
func TestFillsThatCannotBegin(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	id, name := c.artifact("proposal")
	for what, spec := range map[string]pipeline.FillSpec{
		"agent": {ArtifactID: id, AgentID: "agent_none"}, "provider": {ArtifactID: id, AgentID: c.unreachable}, "named": {ArtifactID: id, AgentID: c.codex, Provider: "gpt"},
	} {
		if got, err := c.fill(spec); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	delta, _ := c.artifact("memory_delta")
	report, _ := c.artifact("milestone_report")
	action, _ := c.artifact("heartbeat_action_proposal")
	torn, tornName := c.artifact("proposal")
	if err := c.Replace(tornName, []byte("---\nschema_version: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stray := "art_stray"
	text, err := c.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(governance.ArtifactFile(c.project, stray), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{delta, report, action, torn, stray, "art_none"} {
		if got, err := c.fill(pipeline.FillSpec{ArtifactID: id, AgentID: c.codex}); err != nil || got.OK || got.Error == "" || got.RunID != "" {
			t.Errorf("%s: %+v (%v)", id, got, err)
		}
	}
	if listed, err := runs.List(c.Workspace, ""); err != nil || len(listed) > 0 {
		t.Errorf("%+v (%v)", listed, err)
	}
	for _, made := range []string{delta, report, action, torn, stray} { // they lack the fields of their types
		if err := c.FS.Remove(governance.ArtifactFile(c.project, made)); err != nil {
			t.Fatal(err)
		}
	}

	// A missing program and an unknown repository.
	if err := c.UpdateMachine(t.Context(), func(m *doc.Machine) { m.ProviderBins["codex"] = "/no/such/codex" }); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []pipeline.FillSpec{{AgentID: c.codex}, {AgentID: c.claude, RepoID: "none"}} {
		spec.ArtifactID = id
		got, err := c.fill(spec)
		if err != nil || got.OK || got.RunID == "" {
			t.Fatalf("%+v (%v)", got, err)
		}
		c.reported(t, got)
	}
	c.sound()
}

// TestFillLeavesEdits checks that a fill does not overwrite an artifact that was edited meanwhile.
// A fill also ends without a result if its run is stopped or its context is canceled.
func TestFillLeavesEdits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	id, name := c.artifact("proposal")
	type outcome struct {
		filled pipeline.FillResult
		err    error
	}
	begin := func(ctx context.Context) (<-chan outcome, string) {
		over := make(chan outcome, 1)
		refs := make(chan string, 1)
		conductor := c.conductor()
		conductor.Launched = func(ref string) { refs <- ref }
		go func() {
			filled, err := pipeline.Fill(ctx, c.Workspace, conductor, pipeline.FillSpec{ProjectID: c.project, ArtifactID: id, AgentID: c.claude, Prompt: "DO(wait)"})
			over <- outcome{filled, err}
		}()
		select {
		case ref := <-refs:
			return over, ref
		case o := <-over:
			t.Fatalf("%+v", o)
		}
		return over, ""
	}
	over, ref := begin(t.Context())
	if _, err := session.Stop(t.Context(), c.Workspace, ref); err != nil {
		t.Fatal(err)
	}
	if o := <-over; o.err != nil || o.filled.OK || !strings.Contains(o.filled.Error, "stopped") {
		t.Errorf("stopped: %+v", o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over, ref = begin(ctx)
	cancel()
	if o := <-over; o.err == nil {
		t.Errorf("left: %+v", o)
	}
	if _, err := session.Stop(t.Context(), c.Workspace, ref); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Collect(t.Context(), c.Workspace, ref); err != nil {
		t.Fatal(err)
	}

	edited := false
	conductor := c.conductor()
	conductor.Launched = func(string) { // while the fill is running
		text, err := c.Read(name)
		if err == nil {
			err = c.Replace(name, append(text, "edited\n"...), 0o644)
		}
		edited = err == nil
	}
	got, err := pipeline.Fill(t.Context(), c.Workspace, conductor, pipeline.FillSpec{ProjectID: c.project, ArtifactID: id, AgentID: c.claude})
	text, _ := c.Read(name)
	if err != nil || !edited || got.OK || !strings.Contains(got.Error, "changed while") || !strings.HasSuffix(string(text), "edited\n") {
		t.Errorf("edited %v: %+v (%v)\n%s", edited, got, err, text)
	}
	c.sound()
}

// TestSecretsOfAnswers checks that a secret in an agent's answer is redacted in the artifact.
func TestSecretsOfAnswers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, agent := range []string{c.codex, c.claude, c.gem} {
		id, name := c.artifact("proposal")
		got, err := c.fill(pipeline.FillSpec{ArtifactID: id, AgentID: agent, Prompt: "DO(secret)"})
		text, readErr := c.Read(name)
		if err != nil || readErr != nil || !got.OK || strings.Contains(string(text), "hush-hush") || !strings.Contains(string(text), "[REDACTED]") {
			t.Errorf("%+v (%v)\n%s", got, err, text)
		}
	}
}

// TestIntake sets up a project and checks its tasks and artifacts. A refused intake leaves no
// project.
func TestIntake(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	spec := pipeline.IntakeSpec{Name: "Shop: ☕", CEOID: c.codex, DirectorID: c.director, ManagerIDs: []string{c.gem, c.claude, c.gem}}
	made, err := pipeline.TakeIn(t.Context(), c.Workspace, spec)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := c.Tasks(made.ProjectID)
	if err != nil || len(tasks) != 3 || len(made.Tasks.ManagerTasks) != 2 || len(made.Artifacts.ManagersProposals) != 2 {
		t.Errorf("%d tasks, %+v (%v)", len(tasks), made, err)
	}
	for manager, id := range made.Tasks.ManagerTasks {
		task, err := c.Task(made.ProjectID, id)
		if err != nil || task.AssigneeAgentID != manager || task.TeamID == "" || task.Visibility != "managers" || len(task.Milestones) != 1 ||
			task.Milestones[0].ID != made.Tasks.ManagerMilestones[manager] || task.Milestones[0].Kind != "planning" || task.Milestones[0].Status != "ready" ||
			len(task.Milestones[0].AcceptanceCriteria) != 1 {
			t.Errorf("%+v (%v)", task, err)
		}
		text, _ := c.Read(workspace.TaskFile(made.ProjectID, id))
		proposal := made.Artifacts.ManagersProposals[manager]
		for _, due := range []string{
			"## Milestones\n\n- milestone_id: `" + task.Milestones[0].ID + "`\n",
			"- required_artifact: proposal `" + proposal + "` (" + governance.ArtifactFile(made.ProjectID, proposal) + ")\n",
		} {
			if !strings.Contains(string(text), due) {
				t.Errorf("%q is missing:\n%s", due, text)
			}
		}
		record, err := governance.ReadArtifact(c, made.ProjectID, proposal)
		if err != nil || record.String("produced_by") != manager || record.String("run_id") != "run_manual" || record.String("visibility") != "managers" {
			t.Errorf("%s (%v)", record.Head, err)
		}
	}
	director, err := c.Task(made.ProjectID, made.Tasks.DirectorTask)
	text, _ := c.Read(workspace.TaskFile(made.ProjectID, director.ID))
	if err != nil || director.AssigneeAgentID != c.director || director.Visibility != "org" || !strings.Contains(string(text), made.Artifacts.Workplan) ||
		!strings.Contains(string(text), made.Artifacts.ClarificationsQA) {
		t.Errorf("%+v (%v)\n%s", director, err, text)
	}
	c.sound()

	before, err := workspace.Dirs(c.FS, workspace.ProjectsDir)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*pipeline.IntakeSpec){
		"name":     func(s *pipeline.IntakeSpec) { s.Name = " " },
		"lines":    func(s *pipeline.IntakeSpec) { s.Name = "a\nb" },
		"ceo":      func(s *pipeline.IntakeSpec) { s.CEOID = "agent_none" },
		"director": func(s *pipeline.IntakeSpec) { s.DirectorID = "../x" },
		"manager":  func(s *pipeline.IntakeSpec) { s.ManagerIDs = []string{c.gem, "agent_none"} },
		"managers": func(s *pipeline.IntakeSpec) { s.ManagerIDs = nil },
	} {
		bad := spec
		change(&bad)
		if made, err := pipeline.TakeIn(t.Context(), c.Workspace, bad); err == nil {
			t.Errorf("%s: %+v", what, made)
		}
	}
	if after, err := workspace.Dirs(c.FS, workspace.ProjectsDir); err != nil || !slices.Equal(before, after) {
		t.Errorf("a refused intake left %v (%v)", after, err)
	}
}

// TestPlan plans a whole project and checks its stages and usage estimate.
func TestPlan(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	spec := pipeline.PlanSpec{
		IntakeSpec: pipeline.IntakeSpec{Name: "Shop", CEOID: c.codex, DirectorID: c.director, ManagerIDs: []string{c.gem, c.claude}},
		Brief:      "Sell coffee.",
	}
	plan, err := pipeline.MakePlan(t.Context(), c.Workspace, c.conductor(), spec)
	if err != nil {
		t.Fatal(err)
	}
	c.project = plan.ProjectID
	use := plan.UsageEstimate
	var stages []string
	var total int64
	for _, run := range use.ByRun {
		stages = append(stages, run.Stage+" "+run.AgentID)
		total += run.EstimatedTotalTokens
	}
	want := []string{"intake_brief " + c.codex, "clarifications_qa " + c.director, "manager_proposal " + c.gem, "manager_proposal " + c.claude, "workplan " + c.director}
	if !slices.Equal(stages, want) || use.EstimatedTotalTokens != total || total == 0 {
		t.Errorf("%v, %d tokens of %d", stages, use.EstimatedTotalTokens, total)
	}
	if use.Source != "mixed" || use.Confidence != "medium" || use.EstimatedCostUSD == nil || use.ByRun[2].EstimatedCostUSD == nil || use.ByRun[0].EstimatedCostUSD != nil {
		t.Errorf("%+v", use)
	}
	kept, err := c.Read(workspace.RunDir(plan.ProjectID, plan.Workplan.RunID) + "/outputs/planning_usage_estimate.json")
	var again pipeline.UsageEstimate
	if err != nil || json.Unmarshal(kept, &again) != nil || again.EstimatedTotalTokens != total {
		t.Errorf("%s (%v)", kept, err)
	}
	prompt, err := c.Read(workspace.RunDir(plan.ProjectID, plan.IntakeBrief.RunID) + "/outputs/stdin.txt")
	if err != nil || !strings.Contains(string(prompt), "Sell coffee.") || !strings.HasSuffix(string(prompt), "## Constraints\n") {
		t.Errorf("%s (%v)", prompt, err)
	}
	c.sound()

	spec.Brief = "DO(fail)"
	_, err = pipeline.MakePlan(t.Context(), c.Workspace, c.conductor(), spec)
	if !fault.Is(err, fault.Unfilled) || !strings.Contains(err.Error(), "the intake brief") {
		t.Errorf("a plan that fails: %v", err)
	}
	c.sound()
}
