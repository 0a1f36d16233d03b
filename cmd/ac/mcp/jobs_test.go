package mcp_test

// The tools list_jobs and launch_job.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/grant"
	"ac/workspace"
	"ac/workspace/doc"
)

func (d *desk) job(id, worker, status string, change ...func(*doc.Job)) {
	d.t.Helper()
	record := doc.Job{
		SchemaVersion: 1, Type: "job_record", CreatedAt: "2026-01-01T00:00:00.000Z", UpdatedAt: "2026-01-01T00:00:00.000Z", Status: status, Attempts: []doc.JobAttempt{},
		Job: doc.JobSpec{SchemaVersion: 1, Type: "job", JobID: id, JobKind: "execution", WorkerKind: "codex", WorkspaceDir: d.dir, ProjectID: d.project, Goal: "Goal of " + id,
			Constraints: []string{}, Deliverables: []string{}, PermissionLevel: "patch", ContextRefs: []doc.ContextRef{}, WorkerAgentID: worker},
	}
	for _, c := range change {
		c(&record)
	}
	text, err := doc.JobCodec.Encode(record)
	must(d.t, err)
	d.put("work/projects/"+d.project+"/jobs/"+id+"/job.yaml", string(text))
}

func TestListJobs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(d *desk, _ *grant.Identity) {
		d.job("job_mate", d.mate, "completed")
		d.job("job_own", d.agent, "canceled")
		d.job("job_stranger", d.stranger, "completed")
		d.job("job_nobody", "", "completed")
	})
	ids := func(data object) (list []string) {
		for _, j := range data["jobs"].([]any) {
			list = append(list, pick(j, "job_id").(string)+" "+pick(j, "worker").(string)+" "+pick(j, "goal").(string))
		}
		return list
	}
	if got, want := ids(d.must("list_jobs", nil)), []string{"job_mate agent_max Goal of job_mate", "job_own agent_ann Goal of job_own"}; !cmp.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := ids(d.must("list_jobs", object{"status": "canceled", "limit": 1})); len(got) != 1 {
		t.Errorf("%q", got)
	}
	d = newDesk(t, func(d *desk, id *grant.Identity) {
		id.AgentID = d.manager
		d.job("job_stranger", d.stranger, "completed")
	})
	if got := ids(d.must("list_jobs", nil)); len(got) != 1 {
		t.Errorf("a manager sees %q", got)
	}
}

func TestLaunchJob(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, id *grant.Identity) { id.LaunchJobs = true })
	made := d.must("launch_job", object{"goal": "Look into it", "worker_agent_id": d.mate, "deliverables": []string{"a note"}, "constraints": []string{"be brief"}, "permission_level": "patch"})
	id := made["job_id"].(string)
	if made["status"] != "queued" || !cmp.Equal(d.supervisor.Jobs(), []string{id}) {
		t.Errorf("%v %v", made, d.supervisor.Jobs())
	}
	text, err := d.w.Read("work/projects/" + d.project + "/jobs/" + id + "/job.yaml")
	must(t, err)
	for _, part := range []string{"manager_actor_id: " + d.agent, "manager_role: worker", "worker_agent_id: " + d.mate, "permission_level: patch", "value: " + d.run, "goal: Look into it"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the job lacks %q:\n%s", part, text)
		}
	}
	if told := d.logged("job.launched"); len(told) != 1 || told[0] != `{"job_id":"`+id+`","goal":"Look into it"}` {
		t.Errorf("the log has %q", told)
	}
	if decided := d.logged("policy.decision"); len(decided) != 1 || !strings.Contains(decided[0], `"action":"launch"`) {
		t.Errorf("the log has %q", decided)
	}
	d.refused("launch_job", object{"goal": "g", "worker_agent_id": d.stranger}, "denied: Policy denied launch: vis.team.mismatch")
	d.refused("launch_job", object{"goal": "g", "permission_level": "run-commands"}, "denied: launch.level: ")
	d.refused("launch_job", object{"goal": "g", "worker_agent_id": "agent_none"}, "not_found: ")
	for range 4 {
		d.must("launch_job", object{"goal": "g"})
	}
	d.refused("launch_job", object{"goal": "g"}, "denied: launch.open: ")
	if n := len(d.logged("job.launched")); n != 5 {
		t.Errorf("%d jobs were launched", n)
	}
}

// TestLaunchJobForAnyAgent checks that ACP agents, and cmd agents with a command line in their
// documents, can be given jobs. A cmd agent without a command line is refused.
func TestLaunchJobForAnyAgent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, id *grant.Identity) { id.LaunchJobs = true })
	hire := func(id, provider, launcher string) string {
		d.put("org/agents/"+id+"/agent.yaml", fmt.Sprintf("schema_version: 1\ntype: agent\nid: %s\nname: %s\nrole: worker\nprovider: %s\nteam_id: team_pay\ncreated_at: 2026-01-01T00:00:00Z\n%s", id, id, provider, launcher))
		return id
	}
	for provider, kind := range map[string]string{"opencode": "acp", "cmd": "cmd"} {
		worker := hire("agent_"+provider, provider, "launcher: {command_argv_template: [teller]}\n")
		id := d.must("launch_job", object{"goal": "g", "worker_agent_id": worker})["job_id"].(string)
		order, err := d.w.Read("work/projects/" + d.project + "/jobs/" + id + "/order.json")
		if must(t, err); !strings.Contains(string(order), `"worker_kind": "`+kind+`"`) {
			t.Errorf("%s: %s", provider, order)
		}
	}
	d.refused("launch_job", object{"goal": "g", "worker_agent_id": hire("agent_mute", "cmd", "")}, "conflict: agent agent_mute has the provider cmd and no command line")
}

func TestJobsThatAreNotLaunched(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.refused("launch_job", object{"goal": "g"}, "denied: launch.session: ")
	d = newDesk(t, func(_ *desk, id *grant.Identity) { id.LaunchJobs = true })
	d.put("work/projects/"+d.project+"/project.yaml", fmt.Sprintf("schema_version: 1\ntype: project\nid: %s\nname: Checkout\nstatus: active\ncreated_at: 2026-01-01T00:00:00Z\nbudget:\n  hard_tokens: 1\n", d.project))
	d.put(workspace.RunFile(d.project, "run_old"), fmt.Sprintf("schema_version: 1\ntype: run\nid: run_old\nproject_id: %s\nagent_id: a\nprovider: codex\ncreated_at: 2026-01-01T00:00:00Z\nstatus: ended\ncontext_pack_id: c\nevents_relpath: e\nusage: {source: provider_reported, confidence: high, total_tokens: 10}\n", d.project))
	d.refused("launch_job", object{"goal": "g"}, "budget_exceeded: ")
	// The run of a job that an agent launched cannot launch jobs.
	d = newDesk(t, func(d *desk, id *grant.Identity) {
		id.LaunchJobs, id.PermissionLevel = true, "full"
		d.job("job_a", d.agent, "running", func(j *doc.Job) {
			j.Job.ContextRefs = []doc.ContextRef{{Kind: "note", Value: "run_first", Description: "launched by the agent of this run"}}
			j.CurrentAttempt, j.Attempts = 1, []doc.JobAttempt{{
				Attempt: 1, RunID: d.run, ContextPackID: "c", SessionRef: "s", WorkerKind: "codex", WorkerAgentID: d.agent, Provider: "codex",
				StartedAt: "2026-01-01T00:00:00.000Z", Status: "running",
			}}
		})
	})
	d.refused("launch_job", object{"goal": "g"}, "denied: launch.depth: ")
}
