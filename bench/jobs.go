package main

// Jobs: from the submission to the worker.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// worker is a script that answers as an agent's CLI does, with minimal work.
const worker = `#!/bin/sh
case "$*" in
*--print*) echo '{"type":"result","result":"{\"status\":\"succeeded\",\"summary\":\"s\",\"files_changed\":[],\"commands_run\":[],\"artifacts\":[],\"next_actions\":[],\"errors\":[]}"}' ;;
*) echo 'worker 1.0' ;;
esac
`

// measureJobs submits jobs one after the other and times the stages of each.
func measureJobs(ctx context.Context, b *bench) (found []figure, err error) {
	dir, project, err := b.workplace(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	bin := b.path("claude")
	if err := os.WriteFile(bin, []byte(worker), 0o755); err != nil {
		return nil, err
	}
	machine := fmt.Sprintf("schema_version: 1\ntype: machine\nrepo_roots: {}\nprovider_bins:\n  claude: %s\nprovider_execution_policy:\n  claude:\n    channel: api\n    require_subscription_proof: false\n    allowed_bin_patterns:\n      - claude\n", bin)
	if err := os.WriteFile(filepath.Join(dir, ".local/machine.yaml"), []byte(machine), 0o600); err != nil {
		return nil, err
	}
	agent := "schema_version: 1\ntype: agent\nid: agent_bench\nname: Bench\nrole: worker\nprovider: claude\ncreated_at: 2026-11-20T15:02:47.930Z\n"
	agentFile := filepath.Join(dir, "org/agents/agent_bench/agent.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(agentFile), 0o750), os.WriteFile(agentFile, []byte(agent), 0o600)); err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var answered, spawned, ended samples
	for i := range 20 {
		id := fmt.Sprintf("job_%d", i)
		began := time.Now()
		if err := c.submit(dir, project, id); err != nil {
			return nil, err
		}
		answered = append(answered, time.Since(began))
		started, over, err := c.followJob(dir, project, id, began)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first job also runs the program to get its version
			spawned, ended = append(spawned, started), append(ended, over)
		}
	}
	return []figure{
		{Name: "job.submit to its answer", Unit: "ms", Seen: ms(answered.median()), Note: answered.spread()},
		{Name: "job.submit to the worker's process", Unit: "ms", Seen: ms(spawned.median()), Target: 60, Note: spawned.spread() + "; by the session's record"},
		{Name: "job.submit to the job's end", Unit: "ms", Seen: ms(ended.median()), Note: ended.spread()},
	}, nil
}

// submit submits one job.
func (c *child) submit(dir, project, id string) error {
	return c.call("job.submit", map[string]any{"job": map[string]any{
		"job_id": id, "worker_kind": "claude", "worker_agent_id": "agent_bench", "workspace_dir": dir, "project_id": project, "goal": "g",
		"constraints": []string{}, "deliverables": []string{}, "permission_level": "read-only", "context_refs": []string{},
	}}, nil)
}

// followJob polls a job until it ends. It returns the time to the start of the worker's process, by
// the session's record, and the time to the observed end.
func (c *child) followJob(dir, project, id string, began time.Time) (started, over time.Duration, err error) {
	var job struct {
		Status   string
		Attempts []struct {
			SessionRef string `json:"session_ref"`
		}
	}
	for job.Status != "completed" {
		if err := c.call("job.poll", map[string]any{"workspace_dir": dir, "project_id": project, "job_id": id}, &job); err != nil {
			return 0, 0, err
		}
		time.Sleep(time.Millisecond) // leaves the server time for other work
	}
	over = time.Since(began)
	var sessions []struct {
		Ref     string `json:"session_ref"`
		Claimed int64  `json:"pid_claimed_at_ms"`
	}
	if err := c.call("session.list", map[string]any{"workspace_dir": dir}, &sessions); err != nil {
		return 0, 0, err
	}
	for _, s := range sessions {
		if len(job.Attempts) == 1 && s.Ref == job.Attempts[0].SessionRef {
			return time.UnixMilli(s.Claimed).Sub(began), over, nil
		}
	}
	return 0, 0, fmt.Errorf("job %s: no session in %d attempts", id, len(job.Attempts))
}
