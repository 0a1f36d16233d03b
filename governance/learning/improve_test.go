package learning

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestEvaluations checks evaluations with every kind of end.
func TestEvaluations(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	repo, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(repo, "out")); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateMachine(t.Context(), func(m *doc.Machine) { m.RepoRoots["repo"] = repo }); err != nil {
		t.Fatal(err)
	}
	in := func(dir string, want Improvement) Improvement {
		want.RepoID, want.WorkdirRel = "repo", dir
		return want
	}
	hanging := c.improvement("hangs", "sh", "-c", `trap "" TERM; sleep 600 & sleep 600; sleep 600`)
	hanging.Limit = 300 * time.Millisecond
	for _, tt := range []struct {
		want   Improvement
		status string
		code   int // -1: null
		signal string
		says   string // in the report
	}{
		{c.improvement("default"), ProposalCreated, 0, "", "evaluation: passed"},
		{c.improvement("fails", "sh", "-c", "exit 7"), EvaluationFailed, 7, "", "failed (exit_code=7, signal=null)"},
		{c.improvement("killed", "sh", "-c", "kill -9 $$"), EvaluationFailed, -1, "SIGKILL", "failed (exit_code=null, signal=SIGKILL)"},
		{hanging, EvaluationFailed, -1, "SIGKILL", "ran longer than its limit of 300ms"},
		{c.improvement("absent", "/no/such/program"), EvaluationFailed, -1, "", "could not be started"},
		{c.improvement("directory", "/"), EvaluationFailed, -1, "", "could not be started"},
		{c.improvement("megabytes", "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"), ProposalCreated, 0, "", "passed"},
		{in("out", c.improvement("leaves", "true")), EvaluationFailed, -1, "", "could not be started"},
		{in("none", c.improvement("nowhere", "true")), EvaluationFailed, -1, "", "could not be started"},
	} {
		t.Run(tt.want.Key, func(t *testing.T) {
			got := c.improve(t, tt.want)
			if got.Status != tt.status || got.MistakeCount != 1 || got.Evaluation == nil || (got.ProposedRule != nil) != (tt.status == ProposalCreated) {
				t.Fatalf("%+v %+v", got, got.Evaluation)
			}
			code, signal := -1, ""
			if got.ExitCode != nil {
				code = *got.ExitCode
			}
			if got.Signal != nil {
				signal = *got.Signal
			}
			if code != tt.code || signal != tt.signal {
				t.Errorf("exit code %d, signal %q", code, signal)
			}
			report, err := c.Read(got.ArtifactRelpath)
			if err != nil || !strings.Contains(string(report), tt.says) || len(governance.ValidateArtifact(report)) > 0 {
				t.Errorf("the report: %v\n%s", err, report)
			}
		})
	}
	c.sound(t)
}

// TestCyclesAtOnce runs concurrent cycles for one key. It checks that the rule is proposed once and
// that every mistake is counted.
func TestCyclesAtOnce(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	const cycles = 4
	results := make(chan CycleResult, cycles)
	failures := make(chan error, cycles)
	for range cycles {
		go func() {
			got, err := Improve(t.Context(), c.Workspace, conductor(), c.improvement("k"))
			results <- got
			failures <- err
		}()
	}
	delta, counts := "", map[int64]bool{}
	for range cycles {
		got, err := <-results, <-failures
		if err != nil || got.ProposedRule == nil {
			t.Fatalf("%+v (%v)", got, err)
		}
		if delta != "" && got.DeltaID != delta {
			t.Errorf("proposed as %s and %s", delta, got.DeltaID)
		}
		delta = got.DeltaID
		counts[got.MistakeCount] = true
	}
	if made := c.artifacts(t); made["memory_delta"] != 1 || made["manager_digest"] != 1 || len(counts) != cycles {
		t.Errorf("artifacts %v, counts %v", made, counts)
	}
	c.sound(t)
}

// TestProposals checks when a cycle makes a new proposal: by key, by project, and after a denial or
// an approval.
func TestProposals(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	decide := func(delta, decision string) {
		t.Helper()
		_, err := governance.DecideDelta(t.Context(), c.Workspace, governance.Ruling{
			Item: governance.Item{ProjectID: c.project, ArtifactID: delta}, Decision: decision, Actor: policy.Actor{ID: "human", Role: "human"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	first := c.improve(t, c.improvement("key"))
	if longer := c.improve(t, c.improvement("key2")); longer.ProposedRule == nil || longer.DeltaID == first.DeltaID {
		t.Errorf("a key that begins with another: %+v", longer)
	}
	odd := c.improve(t, c.improvement("x <!-- mistake:ke"))
	if shorter := c.improve(t, c.improvement("ke")); shorter.ProposedRule == nil || shorter.DeltaID == odd.DeltaID {
		t.Errorf("a key that ends another: %+v", shorter)
	}
	project, err := c.NewProject(t.Context(), "Other")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := c.improvement("key")
	elsewhere.ProjectID = project
	if got := c.improve(t, elsewhere); got.DeltaID != first.DeltaID || got.ProjectID != c.project || got.RunID != first.RunID {
		t.Errorf("from another project: %+v", got)
	}
	decide(first.DeltaID, governance.Denied)
	second := c.improve(t, c.improvement("key"))
	if second.Status != ProposalCreated || second.DeltaID == first.DeltaID || second.MistakeCount != 3 {
		t.Errorf("after a denial: %+v", second)
	}
	decide(second.DeltaID, governance.Approved)
	if got := c.improve(t, c.improvement("key")); got.Status != AlreadyGuided || got.Evaluation != nil {
		t.Errorf("after an approval: %+v", got)
	}
	guidance, err := c.Read(workspace.GuidanceFile(c.worker))
	if err != nil || strings.Count(string(guidance), "[key] Rule of key (seen 3 times)") != 1 {
		t.Errorf("%s (%v)", guidance, err)
	}
	c.sound(t)
}

// TestProposalsForOddGuidance approves proposals for guidance that people have rewritten.
func TestProposalsForOddGuidance(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "# Mine", "# Mine\r\n\r\ntext\r\n", "# Mine\r\ntext", "## Recurring Mistakes To Avoid",
		"x\n## Recurring Mistakes To Avoid\n\n- mine\n", "## Recurring Mistakes To Avoid\r\n- mine\r\n", "# A\n\n\n",
	} {
		c := newCompany(t)
		file := workspace.GuidanceFile(c.worker)
		if err := c.Replace(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := c.improve(t, c.improvement("k"))
		if now, err := c.Read(file); err != nil || string(now) != text {
			t.Errorf("%q is %q before the approval (%v)", text, now, err)
		}
		_, err := governance.DecideDelta(t.Context(), c.Workspace, governance.Ruling{
			Item: governance.Item{ProjectID: c.project, ArtifactID: got.DeltaID}, Decision: governance.Approved, Actor: policy.Actor{ID: "human", Role: "human"},
		})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		now, err := c.Read(file)
		if err != nil || !hasRule(now, "k") || strings.Count(string(now), doc.MistakesHeading) != 1 {
			t.Errorf("%q became %q (%v)", text, now, err)
		}
		if strings.Contains(text, "\r\n") && strings.Count(string(now), "\n") != strings.Count(string(now), "\r\n") {
			t.Errorf("%q became %q: mixed line ends", text, now)
		}
	}
}

// TestRefusedCycles checks that a refused cycle records nothing.
func TestRefusedCycles(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for what, change := range map[string]func(*Improvement){
		"project": func(i *Improvement) { i.ProjectID = "proj_none" },
		"agent":   func(i *Improvement) { i.Worker = "agent_none" },
		"repo":    func(i *Improvement) { i.RepoID = "none" },
		"worker":  func(i *Improvement) { i.Manager.Role = "worker" },
		"claimed": func(i *Improvement) { i.Manager.ID = c.worker },
		"blank":   func(i *Improvement) { i.Summary = " \n" },
	} {
		want := c.improvement("k")
		change(&want)
		if got, err := Improve(t.Context(), c.Workspace, conductor(), want); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if c.Exists(workspace.MistakesFile(c.worker)) || c.Exists(workspace.GuidanceFile(c.worker)) {
		t.Error("something was recorded")
	}
}

// TestKilledCycle kills a process during its evaluation. It checks that the run ends by itself,
// that the cycle leaves no artifacts, and that the next cycle evaluates again.
func TestKilledCycle(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := t.TempDir()
	begun, release := filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	want := c.improvement("k", "sh", "-c", `: > "$0"; while [ ! -e "$1" ]; do sleep 0.05; done`, begun, release)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], improveCommand, c.Dir(), string(text))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(release, nil, 0o644) }) // whatever happens, the evaluation ends
	await(t, begun)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	records, err := session.All(c.Workspace)
	if err != nil || len(records) != 1 {
		t.Fatalf("%+v (%v)", records, err)
	}
	if now, err := session.Current(t.Context(), c.Workspace, records[0].Ref); err != nil || now.Status != doc.StatusRunning || !session.Live(c.Workspace, now) {
		t.Errorf("after the kill: %+v (%v)", now, err)
	}
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if end, err := session.Collect(ctx, c.Workspace, records[0].Ref); err != nil || end.Status != doc.StatusEnded {
		t.Errorf("the end: %+v (%v)", end, err)
	}
	if made := c.artifacts(t); len(made) > 0 {
		t.Errorf("half a cycle left %v", made)
	}
	c.sound(t)
	if got := c.improve(t, want); got.Status != ProposalCreated || got.MistakeCount != 2 || got.RunID == records[0].RunID {
		t.Errorf("the next cycle: %+v", got)
	}
	c.sound(t)
}

// TestStoppedEvaluation checks that a stopped evaluation counts as failed, and that a canceled
// context does not stop the run.
func TestStoppedEvaluation(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	begun := filepath.Join(t.TempDir(), "begun")
	want := c.improvement("k", "sh", "-c", `trap "exit 0" TERM; : > "$0"; while :; do sleep 0.05; done`, begun)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := Improve(ctx, c.Workspace, conductor(), want)
		over <- err
	}()
	await(t, begun)
	cancel()
	if err := <-over; err == nil {
		t.Error("a cycle whose context ended told something")
	}
	records, err := session.All(c.Workspace)
	if err != nil || len(records) != 1 || !session.Live(c.Workspace, records[0]) {
		t.Fatalf("%+v (%v)", records, err)
	}
	if err := os.Remove(begun); err != nil {
		t.Fatal(err)
	}
	done := make(chan CycleResult, 1)
	go func() {
		got, _ := Improve(t.Context(), c.Workspace, conductor(), want)
		done <- got
	}()
	await(t, begun)
	if records, err = session.All(c.Workspace); err != nil || len(records) != 2 {
		t.Fatalf("%+v (%v)", records, err)
	}
	for _, record := range records {
		if _, err := session.Stop(t.Context(), c.Workspace, record.Ref); err != nil {
			t.Fatal(err)
		}
	}
	got := <-done
	if got.Status != EvaluationFailed || got.ExitCode == nil || *got.ExitCode != 0 {
		t.Errorf("stopped: %+v", got)
	}
	for _, record := range records {
		if _, err := session.Collect(t.Context(), c.Workspace, record.Ref); err != nil {
			t.Error(err)
		}
	}
	c.sound(t)
}

// TestBrokenLogs checks that an invalid mistake log stays unchanged, and that an empty one counts
// as missing.
func TestBrokenLogs(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := workspace.MistakesFile(c.worker)
	m := c.improvement("k").Mistake
	for _, text := range []string{
		"- a\n- b\n", "text", "a: [", "a: 1\na: 2\n", "schema_version: 1\ntype: agent_mistake_log\n",
		"schema_version: 1\ntype: agent_mistake_log\nagent_id: a\nupdated_at: x\nentries:\n  - key: k\n    count: many\n",
		"schema_version: 1\ntype: task\nagent_id: a\nupdated_at: x\nentries: []\n", "--- \n---\n", "\x00",
	} {
		if err := c.Replace(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := RecordMistake(t.Context(), c.Workspace, m); !fault.Is(err, fault.InvalidFile) {
			t.Errorf("%q: %+v (%v)", text, got, err)
		}
		if now, err := c.Read(file); err != nil || string(now) != text {
			t.Errorf("%q became %q (%v)", text, now, err)
		}
	}
	for _, text := range []string{"", " \n\n"} {
		if err := c.Replace(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := RecordMistake(t.Context(), c.Workspace, m); err != nil || got.Count != 1 {
			t.Errorf("%q: %+v (%v)", text, got, err)
		}
	}
}

// TestObservations checks that the last twenty observations are kept, and with them the fields of
// other programs.
func TestObservations(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := workspace.MistakesFile(c.worker)
	before := "schema_version: 1\ntype: agent_mistake_log\nx_log: 1 # mine\nagent_id: " + c.worker + "\nupdated_at: x\nentries:\n" +
		"  - key: other\n    count: 7\n    x_entry: kept\n    last_seen_at: x\n    summary: s\n    prevention_rule: r\n    observations: [{at: x, observed_by: y, evidence_artifact_ids: [], x_observation: kept}]\n" +
		"  - key: k\n    count: 2\n    x_entry: kept too\n    last_seen_at: x\n    summary: s\n    prevention_rule: r\n    observations: []\n"
	if err := c.Replace(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	m := c.improvement("k").Mistake
	for i := range 22 {
		m.Summary = strings.Repeat("s", i+1)
		if got, err := RecordMistake(t.Context(), c.Workspace, m); err != nil || got.Count != int64(i+3) {
			t.Fatalf("%+v (%v)", got, err)
		}
	}
	text, err := c.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, due := range []string{"x_log: 1 # mine", "x_entry: kept\n", "x_observation: kept", "x_entry: kept too", "summary: " + m.Summary + "\n", "count: 24", "count: 7"} {
		if !strings.Contains(string(text), due) {
			t.Errorf("%q is lost:\n%s", due, text)
		}
	}
	if kept := strings.Count(string(text), "observed_by: "+c.manager); kept != 20 {
		t.Errorf("%d observations are kept", kept)
	}
	log, err := workspace.Decode(doc.MistakeLogCodec, file, text)
	if err != nil || len(log.Entries) != 2 {
		t.Errorf("%+v (%v)", log, err)
	}
}
