package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/durable/faultfs"
	"ac/pm"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
)

// stage is a workspace with pending items of each type.
type stage struct {
	dir, project, run, task string
	items                   []item
}

// item can be decided on. look counts its visible effects.
type item struct{ kind, artifact, mark string }

const (
	kindMemory    = "memory"
	kindMilestone = "milestone"
	kindComment   = "comment"
	kindJob       = "job"
)

func kindsOfItems() []string { return []string{kindMemory, kindMilestone, kindComment, kindJob} }

// newStage creates a workspace with n items of each type.
func newStage(t testing.TB, n int) stage {
	t.Helper()
	ctx := t.Context()
	s := stage{dir: filepath.Join(t.TempDir(), "ws")}
	env := calm()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(workspace.Init(ctx, env, s.dir, workspace.InitOptions{CompanyName: "Acme"}))
	w := open(t, env, s.dir)
	var err error
	s.project, err = w.NewProject(ctx, "P")
	must(err)
	agent, err := w.NewAgent(ctx, workspace.AgentSpec{Name: "Wim", Role: "worker", Provider: "codex"})
	must(err)
	made, err := runs.Create(ctx, w, s.project, agent, "codex")
	must(err)
	s.run = made.RunID
	s.task, err = pm.NewTask(ctx, w, s.project, pm.TaskSpec{Title: "T", Visibility: "org"})
	must(err)
	must(w.Replace(workspace.ArtifactsDir(s.project)+"/art_proof.patch", []byte("diff\n"), 0o644))
	must(w.Replace(workspace.ArtifactsDir(s.project)+"/art_proof.json", []byte("{}\n"), 0o644))
	for i := range n {
		for _, kind := range kindsOfItems() {
			s.items = append(s.items, s.add(t, w, kind, i))
		}
	}
	return s
}

func (s stage) add(t testing.TB, w *workspace.Workspace, kind string, i int) item {
	t.Helper()
	ctx := t.Context()
	made := item{kind: kind, mark: fmt.Sprintf("%s-%d", kind, i)}
	var err error
	switch kind {
	case kindMemory:
		var delta governance.DeltaProposal
		delta, err = governance.ProposeDelta(ctx, w, governance.DeltaSpec{
			ProjectID: s.project, Title: "D", Under: "## Decisions", Lines: []string{"- " + made.mark}, Visibility: "managers",
			ProducedBy: "agent", RunID: s.run, ContextPackID: "ctx",
		})
		made.artifact = delta.ArtifactID
	case kindMilestone:
		made.mark, err = pm.AddMilestone(ctx, w, s.project, s.task, doc.Milestone{Title: "M", Kind: "coding"})
		if err == nil {
			made.artifact, err = governance.NewMilestoneReport(ctx, w, s.project, governance.ReportSpec{
				ArtifactSpec: governance.ArtifactSpec{Title: "R", Visibility: "managers", RunID: s.run},
				TaskID:       s.task, MilestoneID: made.mark, Evidence: []string{"../x", "art_proof"}, Tests: []string{"art_proof"},
			})
		}
	default:
		made.artifact = w.Env.IDs.New("art")
		action := doc.Action{ActionBody: doc.ActionBody{IdempotencyKey: made.mark, Risk: "low", Kind: doc.ActionAddComment, ProjectID: s.project, Body: made.mark, TargetRunID: s.run}}
		if kind == kindJob {
			action.ActionBody = doc.ActionBody{IdempotencyKey: made.mark, Risk: "low", Kind: doc.ActionLaunchJob, ProjectID: s.project, Goal: made.mark}
		}
		var text []byte
		text, err = governance.WriteRecord(doc.HeartbeatProposalCodec, doc.HeartbeatProposal{
			Artifact: doc.Artifact{
				SchemaVersion: 1, Type: "heartbeat_action_proposal", ID: made.artifact, CreatedAt: "2026-11-20T14:59:44.066Z", Title: "P",
				Visibility: "managers", ProducedBy: "agent", RunID: s.run, ContextPackID: "ctx",
			},
			ProjectID: s.project, ProposedAction: action,
		}, []byte("## Summary\n\n## Proposed Action\n\n## Policy\n"))
		if err == nil {
			err = w.Replace(governance.ArtifactFile(s.project, made.artifact), text, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// calm returns an environment in which nothing is really synced.
func calm() workspace.Env {
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	return env
}

func open(t testing.TB, env workspace.Env, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (s stage) ruling(artifact, decision string) governance.Ruling {
	return governance.Ruling{
		Item: governance.Item{ProjectID: s.project, ArtifactID: artifact}, Decision: decision, Actor: policy.Actor{ID: "human", Role: "human"},
	}
}

// jobs is a launcher whose jobs are files.
type jobs struct{ project string }

func (j jobs) Launch(u *workspace.Unit, action doc.ActionBody) (string, func(context.Context) error, error) {
	id := u.Workspace().Env.IDs.New("job")
	file := workspace.ProjectDir(j.project) + "/jobs/" + id + ".txt"
	start := func(context.Context) error { return errors.New("a start that fails takes nothing back") }
	return id, start, u.Write(file, []byte(action.Goal+"\n"), 0o644)
}

// decided counts the decisions on an item and their effects.
type decided struct{ approvals, denials, told, effects, remembered int }

// look counts the decisions on an item and their effects.
func (s stage) look(t *testing.T, w *workspace.Workspace, i item) (d decided) {
	t.Helper()
	reviews, err := governance.Reviews(w, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reviews {
		if r.Subject.ArtifactID != i.artifact {
			continue
		}
		if r.Decision == governance.Approved {
			d.approvals++
		} else {
			d.denials++
		}
	}
	log := s.read(t, workspace.LogFile(s.project, s.run))
	for line := range strings.Lines(log) {
		var e struct {
			Type    string
			Payload struct {
				ArtifactID string `json:"artifact_id"`
				ReportID   string `json:"report_artifact_id"`
			}
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue // torn line
		}
		if e.Type == events.ApprovalDecided && (e.Payload.ArtifactID == i.artifact || e.Payload.ReportID == i.artifact) {
			d.told++
		}
	}
	switch i.kind {
	case kindMemory:
		d.effects = strings.Count(s.read(t, workspace.MemoryFile(s.project)), "- "+i.mark+"\n")
	case kindMilestone:
		task, err := w.Task(s.project, s.task)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range task.Milestones {
			if m.ID == i.mark && m.Status == "done" {
				d.effects++
			}
		}
	case kindComment:
		d.effects = s.count(t, "inbox/comments/*.yaml", "body: "+i.mark+"\n")
	case kindJob:
		d.effects = s.count(t, "work/projects/"+s.project+"/jobs/*.txt", i.mark+"\n")
	}
	if text, err := w.Read(workspace.HeartbeatStateFile); err == nil {
		state, err := doc.HeartbeatStateCodec.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		d.remembered = int(state.Idempotency[i.mark].ExecutionCount)
	}
	return d
}

// is checks that the decisions on an item and their effects are consistent, whatever was decided.
func (d decided) is(t *testing.T, what string, i item) {
	t.Helper()
	remembered := 0
	if i.kind == kindComment || i.kind == kindJob {
		remembered = d.approvals
	}
	if d.approvals > 1 || d.denials > 1 || d.told != d.approvals+d.denials || d.effects != d.approvals || d.remembered != remembered {
		t.Errorf("%s: %s does not fit together: %+v", what, i.mark, d)
	}
}

func (s stage) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// count counts the files that contain text.
func (s stage) count(t *testing.T, pattern, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		rel, err := filepath.Rel(s.dir, file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s.read(t, filepath.ToSlash(rel)), text) {
			n++
		}
	}
	return n
}

// whole checks the invariants of the workspace.
func (s stage) whole(t *testing.T, what string, w *workspace.Workspace) {
	t.Helper()
	if findings := validate.Folder(calm(), s.dir); len(findings.Issues) > 0 {
		t.Errorf("%s: issues: %+v", what, findings.Issues)
	}
	report, err := runs.VerifyLog(w, s.project, s.run)
	if err != nil || len(report.VerificationIssues) > 0 {
		t.Errorf("%s: chain: %+v (%v)", what, report, err)
	}
	if w.NeedsRecovery() {
		t.Errorf("%s: the journal is not empty", what)
	}
}
