package company_test

// Runs that cannot be continued, and attachments over the limits.

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/fault"
	"ac/runs"
)

// TestContinueOfAJob checks that an attempt of a job belongs to the job until the job is over.
func TestContinueOfAJob(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	for status, want := range map[string]fault.Reason{"running": fault.RunOwnedByJob, "completed": fault.RunNotResumable} {
		run, id := b.run(), "j_"+status
		b.record(fmt.Sprintf("job_%s_attempt_1_%s", id, run), b.project, run, nobody)
		b.write("work/projects/"+b.project+"/jobs/"+id+"/job.yaml", fmt.Sprintf(`schema_version: 1
type: job_record
job:
  schema_version: 1
  type: job
  job_id: %s
  job_kind: execution
  worker_kind: gemini
  workspace_dir: /somewhere/else
  project_id: %s
  goal: g
  constraints: []
  deliverables: []
  permission_level: read-only
  context_refs: []
created_at: 2026-11-20T15:02:47.930Z
updated_at: 2026-11-20T15:02:48.270Z
status: %s
cancellation_requested: false
current_attempt: 0
attempts: []
`, id, b.project, status))
		before := b.log(run)
		_, err := b.call("run.continue", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`","prompt_text":"go on"}`)
		if !fault.Is(err, want) {
			t.Errorf("%s: %v", status, err)
		}
		if want == fault.RunOwnedByJob && b.log(run) != before {
			t.Error("the refusal was written into the log of the run")
		}
	}
}

// TestAttachmentLimits checks that a file over the limit of a file or of a run is refused and not
// kept.
func TestAttachmentLimits(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run := b.run()
	attach := func(size int) error {
		t.Helper()
		_, err := b.call("run.attach", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`","name":"f","content_base64":"`+
			base64.StdEncoding.EncodeToString(make([]byte, size))+`"}`)
		return err
	}
	if err := attach(runs.MaxAttachment + 1); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
	for range 4 {
		if err := attach(runs.MaxAttachment); err != nil {
			t.Error(err)
		}
	}
	if err := attach(1); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
	kept, err := os.ReadDir(filepath.Join(b.dir, "work/projects", b.project, "runs", run, "outputs/attachments"))
	if err != nil || len(kept) != 4 {
		t.Errorf("%d files: %v", len(kept), err)
	}
}
