package answer

// Examples of answers, for prompts.

import (
	"fmt"

	"ac/internal/canonjson"
	"ac/workspace/doc"
)

// KindExample shows the shape of an answer.
func KindExample(kind string) string {
	shapes := map[string]string{
		doc.AnswerText: `{"text":"the whole answer","summary":"it in a sentence","cannot":null}
text must not be empty. summary may be null.`,
		doc.AnswerFiles: `{"files":[{"path":"src/main.go","content":"the whole new content of the file","selection":null,"delete":null,"language":null,"kind":null,"summary":"why"}],"summary":"what the files do","cannot":null}
Each file has exactly one of content, selection (the new text for the attachment named selection, in its file) and "delete":true. path is relative to the repository.`,
		doc.AnswerReview: `{"issues":[{"severity":"warning","message":"one sentence","line":12,"suggestion":"what to do","path":"src/main.go"}],"summary":"one paragraph","cannot":null}
severity is error, warning or info. line counts from 1. line, suggestion and path may be null. issues may be empty.`,
		doc.AnswerVerdict: `{"approved":false,"text":"why, and what is to be changed","cannot":null}
approved is true or false.`,
		doc.AnswerPlan: `{"done":false,"text":"what comes next and why","tasks":[{"agent":"the id of one of the workers","goal":"what it is to do"}],"cannot":null}
tasks is empty exactly when done is true; text then is the final answer.`,
	}
	return "\nThe shape of the answer, with example values:\n" + shapes[kind] +
		"\nIf you cannot do the job at all, answer {\"cannot\":\"why\"}.\n"
}

// ResultExample shows the shape of a result.
func ResultExample(id, run string) string {
	return fmt.Sprintf(`
The shape of a result, with example values:
{"schema_version":1,"type":"result","job_id":%s,"attempt_run_id":%s,"status":"succeeded","summary":"What was done, in a sentence or two.","files_changed":[{"path":"src/main.go","change_type":"modified","summary":"why"}],"commands_run":[{"command":"go test ./...","exit_code":0,"summary":"all passed"}],"artifacts":[{"relpath":"artifacts/art_1.md","kind":"report"}],"next_actions":[{"action":"Review the change.","rationale":"why"}],"errors":[]}
status is one of succeeded, needs_input, blocked, failed, canceled. All lists are required and may be empty. An error has code, message and optionally details.
`, canonjson.AppendString(nil, id), canonjson.AppendString(nil, run))
}

// ReportExample shows the two shapes of a report.
const ReportExample = `
The shape of a report when nothing is to be done:
{"schema_version":1,"type":"heartbeat_worker_report","status":"ok","token":"HEARTBEAT_OK","summary":"Nothing is due."}
The shape of a report that proposes actions, one of each kind:
{"schema_version":1,"type":"heartbeat_worker_report","status":"actions","summary":"What should happen.","actions":[
{"kind":"launch_job","idempotency_key":"fix-1","risk":"low","needs_approval":false,"summary":"why","project_id":"proj_1","goal":"what the job is for","worker_kind":"codex","permission_level":"read-only","constraints":[],"deliverables":[]},
{"kind":"add_comment","idempotency_key":"note-1","risk":"low","needs_approval":false,"project_id":"proj_1","body":"text","target_agent_id":"agent_1"},
{"kind":"create_approval_item","idempotency_key":"ask-1","risk":"high","needs_approval":true,"project_id":"proj_1","title":"what is to be decided","rationale":"why"},
{"kind":"noop","idempotency_key":"none-1","risk":"low","needs_approval":false,"reason":"why nothing is done"}]}
risk is low, medium or high. An idempotency_key names the action for ever: the same work has the same key.
launch_job may also have worker_agent_id, context_note, task_id, milestone_id; add_comment needs target_agent_id, target_artifact_id or target_run_id; create_approval_item may have a proposed_action of one of the other kinds. All may have visibility (private_agent, team, managers, org) and summary. Use only ids that are named above.
`
