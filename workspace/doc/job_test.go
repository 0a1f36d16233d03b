package doc

import (
	"strings"
	"testing"
)

// TestPlannedSpec checks a job with planned context: a limit above the maximum is lowered to it,
// and the manager's actor id is required.
func TestPlannedSpec(t *testing.T) {
	t.Parallel()
	const spec = `{"job_id":"j","worker_kind":"codex","workspace_dir":"w","project_id":"p","goal":"g","constraints":[],"deliverables":[],
"permission_level":"patch","context_refs":[],"context_mode":"auto","max_context_refs":500,"manager_actor_id":"m","manager_role":"manager"}`
	job, err := JobSpecCodec.Decode([]byte(spec))
	if err != nil || job.MaxContextRefs != 200 {
		t.Errorf("%d refs, %v", job.MaxContextRefs, err)
	}
	if _, err := JobSpecCodec.Decode([]byte(strings.Replace(spec, `"m"`, `" "`, 1))); err == nil || !strings.Contains(err.Error(), "manager_actor_id") {
		t.Errorf("for nobody: %v", err)
	}
}
