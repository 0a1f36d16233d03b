package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ac/internal/redact"
	"ac/workspace"
)

// TestGrowingSecret splits a text with secrets into pieces of every size. No secret may pass, and
// harmless text must arrive unchanged.
func TestGrowingSecret(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + strings.Repeat("Ab1", 12)
	text := "first words\nexport TOKEN=" + secret + " and more\nplain " + secret + "\nlast line of it\n"
	redactor := redact.NewRedactor(nil)
	for size := 1; size < len(text); size++ {
		var line growingLine
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(line.add(redactor, rest[:n]))
			rest = rest[n:]
		}
		if strings.Contains(got.String(), secret) || strings.Contains(got.String(), secret[:20]) {
			t.Fatalf("in pieces of %d the secret leaves: %q", size, got.String())
		}
		for _, part := range []string{"first words\n", "plain [REDACTED", "last line of it\n"} {
			if !strings.Contains(got.String(), part) {
				t.Fatalf("in pieces of %d there is no %q in %q", size, part, got.String())
			}
		}
	}
}

// TestNoSecretInProofs checks that every method which returns evidence for a decision masks what
// agents wrote, and leaves the hashes of the decision unchanged.
func TestNoSecretInProofs(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	secret := "ghp_" + strings.Repeat("Ab1", 12)
	write(t, f.dir, "inbox/help_requests/help_1.md", "---\nschema_version: 1\ntype: help_request\nid: help_1\ncreated_at: 2026-11-20T15:00:00.000Z\ntitle: Which key?\nvisibility: org\nrequester: agent_a\ntarget_manager: agent_m\nproject_id: proj_a\n---\n\n## Question\n\nIs it "+secret+"?\n\n## Response\n")
	f.log("run_1", 1, 1)
	line := `{"schema_version":1,"event_id":"evt_s","run_id":"run_1","type":"provider.raw","ts_wallclock":"2026-11-20T15:00:00.000Z","actor":"system","visibility":"org","payload":{"stream":"stdout","text":"key ` + secret + `"}}` + "\n"
	appendLine(t, f.dir, project, "run_1", line)
	delta := f.secretDelta(secret)
	f.secretSession(secret)
	f.secretJob(secret)
	if got := f.post("/api/call", `{"method":"index.rebuild","params":{}}`); got.status != 200 {
		t.Fatalf("no index: %+v", got)
	}
	worker := serve(t, f.dir, func(o *Options) { o.Actor.ActorID, o.Actor.ActorRole = "w", "worker" })
	for method, params := range map[string]string{
		"needs.get": `"need_id":"help:help_1"`, "help.get": `"help_request_id":"help_1"`,
		"index.list_events":    `"project_id":"proj_a","run_id":"run_1","limit":10`,
		"artifact.read":        `"project_id":"proj_a","artifact_id":"` + delta + `"`,
		"memory.preview_delta": `"project_id":"proj_a","artifact_id":"` + delta + `"`,
		"memory.list_deltas":   `"project_id":"proj_a"`,
		"session.list":         `"limit":10`, "session.poll": `"session_ref":"local_run_1"`,
		"job.list": `"project_id":"proj_a"`, "job.poll": `"project_id":"proj_a","job_id":"j1"`, "job.collect": `"project_id":"proj_a","job_id":"j1"`,
	} {
		call := func(mask string) said {
			return f.post("/api/call", `{"method":"`+method+`","params":{`+params+mask+`}}`)
		}
		if got := worker.post("/api/call", `{"method":"`+method+`","params":{`+params+`,"mask":false}}`); got.status != 403 || strings.Contains(got.body, secret) {
			t.Errorf("%s: a worker who asks gets %+v", method, got)
		}
		plain := call(`,"mask":false`)
		if plain.status != 200 || !strings.Contains(plain.body, secret) {
			t.Errorf("%s: a manager who asks gets %+v", method, plain)
		}
		got := call("")
		if got.status != 200 || strings.Contains(got.body, secret) || !strings.Contains(got.body, "[REDACTED") {
			t.Errorf("%s: %+v", method, got)
		}
		if hash := regexp.MustCompile(`"hash":"[^"]+"`); hash.FindString(got.body) != hash.FindString(plain.body) {
			t.Errorf("%s: the mask changed a hash", method)
		}
	}
}

// secretDelta proposes lines with a secret for the project's memory and returns the proposal's id.
func (f *fixture) secretDelta(secret string) string {
	f.t.Helper()
	write(f.t, f.dir, "work/projects/proj_a/memory.md", "# Memory\n\n## Decisions\n\n- old\n")
	got := f.post("/api/call", `{"method":"memory.propose_delta","params":{"project_id":"proj_a","title":"Keys `+secret+`","under_heading":"## Decisions","insert_lines":["- key `+secret+`"],"visibility":"managers","run_id":"run_manual","context_pack_id":"ctx_manual","evidence":["a"]}}`)
	id := regexp.MustCompile(`"artifact_id":"([^"]+)"`).FindStringSubmatch(got.body)
	if got.status != 200 || id == nil {
		f.t.Fatalf("nothing is proposed: %+v", got)
	}
	return id[1]
}

// secretSession writes the record of a failed session whose error contains a secret.
func (f *fixture) secretSession(secret string) {
	f.t.Helper()
	write(f.t, f.dir, workspace.SessionFile("local_run_1"), "schema_version: 1\ntype: session_record\nsession_ref: local_run_1\nworkspace_dir: "+f.dir+"\n"+
		"project_id: proj_a\nrun_id: run_1\nstatus: failed\nstarted_at_ms: 1\nended_at_ms: 2\nexit_code: 1\nerror: key "+secret+"\n")
}

// secretJob writes a job with a failed attempt, whose error and result contain a secret.
func (f *fixture) secretJob(secret string) {
	f.t.Helper()
	write(f.t, f.dir, "work/projects/proj_a/jobs/j1/job.yaml", `schema_version: 1
type: job_record
job: {schema_version: 1, type: job, job_id: j1, job_kind: execution, worker_kind: gemini, workspace_dir: /w, project_id: proj_a, goal: g, constraints: [], deliverables: [], permission_level: read-only, context_refs: []}
created_at: 2026-11-20T15:02:47.930Z
updated_at: 2026-11-20T15:02:48.270Z
status: completed
cancellation_requested: false
current_attempt: 1
attempts:
  - {attempt: 1, run_id: run_x, context_pack_id: ctx_x, session_ref: job_j1_attempt_1_run_x, worker_kind: gemini, worker_agent_id: agent_w, provider: gemini, started_at: "2026-11-20T15:02:47.945Z", ended_at: "2026-11-20T15:02:48.254Z", status: failed, error: key `+secret+`}
final_result_relpath: jobs/j1/result.json
`)
	write(f.t, f.dir, "work/projects/proj_a/jobs/j1/result.json", `{"schema_version":1,"type":"result","job_id":"j1","attempt_run_id":"run_x","status":"failed","summary":"key `+secret+`","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`)
}

// TestMasked checks that results with agents' texts are masked, and that a manager may request the
// plain text but a worker may not.
func TestMasked(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	secret := "ghp_" + strings.Repeat("Ab1", 12)
	f.log("run_1", 1, 1)
	line := `{"schema_version":1,"event_id":"evt_s","run_id":"run_1","type":"provider.raw","ts_wallclock":"2026-11-20T15:00:00.000Z","actor":"system","visibility":"org","payload":{"stream":"stdout","text":"key ` + secret + `"}}` + "\n"
	appendLine(t, f.dir, project, "run_1", line)
	worker := serve(t, f.dir, func(o *Options) { o.Actor.ActorID, o.Actor.ActorRole = "w", "worker" })
	call := func(f *fixture, mask string) said {
		return f.post("/api/call", `{"method":"events.replay","params":{"project_id":"proj_a","run_id":"run_1"`+mask+`}}`)
	}
	for _, mask := range []string{"", `,"mask":true`} {
		if got := call(f, mask); got.status != 200 || strings.Contains(got.body, secret) || !strings.Contains(got.body, "[REDACTED") {
			t.Errorf("%s: %+v", mask, got)
		}
	}
	if got := call(f, `,"mask":false`); !strings.Contains(got.body, secret) {
		t.Errorf("a manager gets %+v", got)
	}
	if got := call(worker, `,"mask":false`); got.status != 403 || strings.Contains(got.body, secret) {
		t.Errorf("a worker gets %+v", got)
	}
	if got := worker.get("/api/stream?run_id=run_1&mask=0"); got.status != 403 {
		t.Errorf("a worker gets the stream: %d", got.status)
	}
}

// TestEveryReadIsMasked calls every reading method on a workspace with a secret in most texts that
// people and agents write. No answer may contain the secret, and nothing else may be masked.
func TestEveryReadIsMasked(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	secret := "ghp_" + strings.Repeat("Ab1", 12)
	f.log("run_1", 1, 1)
	delta := f.secretDelta(secret)
	f.secretSession(secret)
	f.secretJob(secret)
	made := func(body, id string) string {
		t.Helper()
		got := f.post("/api/call", body)
		found := regexp.MustCompile(`"` + id + `":("[^"]+")`).FindStringSubmatch(got.body)
		if got.status != 200 || found == nil {
			t.Fatalf("%s: %+v", body, got)
		}
		return found[1]
	}
	given := map[string]string{
		"project_id": `"proj_a"`, "run_id": `"run_1"`, "session_ref": `"local_run_1"`, "job_id": `"j1"`, "limit": "10", "scope": `"workspace"`,
		"artifact_id": `"` + delta + `"`, "need_id": `"memory:` + delta + `"`, "q": `"key"`, "view": `"activities"`, "goal": `"g"`,
		"task_id":         made(`{"method":"task.create","params":{"project_id":"proj_a","title":"Use `+secret+`","visibility":"org"}}`, "task_id"),
		"conversation_id": made(`{"method":"conversation.create_channel","params":{"scope":"workspace","name":"keys","slug":"keys","visibility":"org"}}`, "id"),
	}
	made(`{"method":"conversation.message.send","params":{"scope":"workspace","conversation_id":`+given["conversation_id"]+`,"kind":"text","visibility":"org","body":"it is `+secret+`"}}`, "id")
	made(`{"method":"comment.add","params":{"project_id":"proj_a","target_artifact_id":"`+delta+`","body":"it is `+secret+`","visibility":"org"}}`, "comment_id")
	if got := f.post("/api/call", `{"method":"index.rebuild","params":{}}`); got.status != 200 {
		t.Fatalf("no index: %+v", got)
	}
	answered, held := 0, 0
	for _, method := range readable() {
		var params []string
		for _, name := range f.table.Params(method) {
			if value, ok := given[name]; ok {
				params = append(params, `"`+name+`":`+value)
			}
		}
		ask := func(mask string) said {
			return f.post("/api/call", `{"method":"`+method+`","params":{`+strings.Join(append(slices.Clone(params), mask), ",")+`}}`)
		}
		got := ask(`"mask":true`)
		if strings.Contains(got.body, secret) {
			t.Errorf("%s tells the secret: %s", method, got.body)
		}
		if got.status != 200 {
			t.Logf("%s: %s", method, got.body)
			continue
		}
		answered++
		if plain := ask(`"mask":false`); strings.Contains(plain.body, secret) {
			held++
		} else if strings.Count(got.body, mark) != strings.Count(plain.body, mark) {
			t.Errorf("%s masks what is no secret: %s", method, got.body)
		}
	}
	if answered < 59 || held < 17 {
		t.Errorf("%d of %d methods answered, %d of them with the secret", answered, len(readable()), held)
	}
}
