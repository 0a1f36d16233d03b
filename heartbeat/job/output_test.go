package job

// Parsing of odd output.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ac/heartbeat/answer"
	"ac/internal/shape"
	"ac/workspace/doc"
)

const okResult = `{"status":"succeeded","summary":"fine","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestTextOfOutput(t *testing.T) {
	t.Parallel()
	message := func(text string) string {
		return `{"type":"item.completed","item":{"type":"agent_message","text":` + quoted(text) + `}}` + "\n"
	}
	for _, c := range []struct{ file, provider, output, want string }{
		{"stdout.txt", "codex", message("first") + message("second") + `{"type":"turn.completed","usage":{}}`, "second"},
		{"stdout.txt", "codex", `{"type":"item.completed","item":{"item_type":"assistant_message","text":"new"}}`, "new"},
		{"stdout.txt", "codex", `{"msg":{"type":"agent_message","message":"old"}}` + "\nnoise\n{\"msg\":{\"type\":\"token_count\"}}", "old"},
		{"stdout.txt", "codex", `{"a":{"text":"short"}}` + "\n" + `{"delta":"the longest of them"}`, "the longest of them"},
		{"stdout.txt", "codex", "no JSON at all", "no JSON at all"},
		{"stdout.txt", "codex", message("kept") + `{"type":"item.completed","item":{"type":"agent_message","te`, "kept"},
		{"last_message.md", "claude", message("x"), message("x")},
		{"stdout.txt", "claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"part"}]}}` + "\n" + `{"type":"result","result":"whole"}`, "whole"},
		{"stdout.txt", "claude", "plain words", "plain words"},
		{"stdout.txt", "gemini", "{\n \"response\": \"hello\",\n \"stats\": {}\n}", "hello"},
		{"stdout.txt", "gemini", "plain words", "plain words"},
		{"stdout.txt", "gemini", `{"type":"message","role":"user","content":` + quoted("Answer like "+okResult) + "}\n", ""},
		{"stdout.txt", "codex", `{"method":"item/completed","params":{"item":{"type":"userMessage","content":[{"type":"text","text":` + quoted(okResult) + `}]}}}` + "\n", ""},
		{"stdout.txt", "cmd", "anything", "anything"},
	} {
		if got := textOf(c.file, c.provider, c.output); got != c.want {
			t.Errorf("%s %s %q: %q, want %q", c.file, c.provider, c.output, got, c.want)
		}
	}
}

func TestResultsInOutput(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bare":                  okResult,
		"with space":            " \r\n" + okResult + "\n\n",
		"byte order mark":       "\uFEFF" + okResult,
		"trailing commas":       strings.Replace(okResult, `"errors":[]}`, `"errors":[ , ],}`, 1),
		"trailing comma":        strings.Replace(okResult, `[]}`, "[],\n}", 1),
		"fenced":                "Here it is:\n```json\n" + okResult + "\n```\nDone.",
		"fenced, CRLF":          "```\r\n" + okResult + "\r\n```",
		"in prose":              "I did it. " + okResult + " That is all.",
		"behind a stray brace":  "use { to open, and \"quote\n" + okResult,
		"behind another object": `{"note":"first"} ` + okResult,
		"braces in strings":     `x {"status":"succeeded","summary":"a } b { c","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`,
		"wrapped":               `{"type":"result","structured_output":` + okResult + `}`,
		"wrapped in text":       `{"result":` + quoted(okResult) + `}`,
		"wrapped twice":         `{"response":` + quoted(`{"payload":`+quoted(okResult)+`}`) + `}`,
		"in a list":             `{"content":[{"message":` + quoted("text "+okResult) + `}]}`,
		"nulls":                 strings.Replace(okResult, `"commands_run":[]`, `"commands_run":[{"command":"x","exit_code":null,"summary":null}]`, 1),
		"of another run":        strings.Replace(okResult, `{`, `{"attempt_run_id":"run_other",`, 1),
		"second one is good":    `{"status":"great","summary":"x"} ` + okResult,
	} {
		answer, issues := checkResults(answer.Values(text), "job_1", "run_1")
		if answer == nil {
			t.Errorf("%s: %+v", name, issues)
			continue
		}
		if answer.result.JobID != "job_1" || answer.result.AttemptRunID != "run_1" || answer.result.Status != doc.ResultSucceeded {
			t.Errorf("%s: %+v", name, answer.result)
		}
	}
}

func TestBadResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, code, message string }{
		{"", "result_unparseable", "no JSON object"},
		{"words", "result_unparseable", "no JSON object"},
		{"{ never closed", "result_unparseable", ""},
		{`[1,2]`, "result_not_object", "array"},
		{`42`, "result_not_object", "number"},
		{`{"status":"succeeded"}`, "result_schema_invalid", "summary: "},
		{strings.Replace(okResult, `"fine"`, `"fine","extra":1`, 1), "result_schema_invalid", "unknown: extra"},
		{strings.Replace(okResult, `"fine"`, `""`, 1), "result_schema_invalid", "summary: must not be empty"},
		{strings.Replace(okResult, `{`, `{"job_id":"job_2",`, 1), "result_job_id_mismatch", "job_2"},
		{strings.Replace(okResult, `{`, `{"schema_version":2,`, 1), "result_schema_invalid", "schema_version"},
		{strings.Replace(okResult, `"commands_run":[]`, `"commands_run":[{"command":"x","exit_code":1.5}]`, 1), "result_schema_invalid", "commands_run[0].exit_code"},
		{strings.Repeat("[", 5000), "result_unparseable", ""},
		{strings.Repeat("{", 5000), "result_unparseable", ""},
		{strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000), "result_schema_invalid", ""},
	} {
		answer, issues := checkResults(answer.Values(c.text), "job_1", "run_1")
		if answer != nil || len(issues) == 0 || issues[0].Code != c.code || !strings.Contains(fmt.Sprint(issues), c.message) {
			t.Errorf("%.60q: %+v %+v", c.text, answer, issues)
		}
	}
}

func TestBadReports(t *testing.T) {
	t.Parallel()
	noop := `{"kind":"noop","idempotency_key":"k","risk":"low","needs_approval":false,"reason":"r"}`
	approval := `{"kind":"create_approval_item","idempotency_key":"k","risk":"low","needs_approval":true,"project_id":"p","title":"t","proposed_action":%s}`
	report := func(actions string) string { return `{"status":"actions","summary":"s","actions":[` + actions + `]}` }
	for text, want := range map[string]string{
		`{"status":"ok","summary":"s"}`: "token: must be HEARTBEAT_OK",
		`{"status":"ok","token":"HEARTBEAT_OK","summary":"s","actions":[` + noop + `]}`:                                        "actions: must be empty",
		`{"status":"actions","summary":"s"}`:                                                                                   "actions: must have at least one",
		`{"status":"actions","token":"HEARTBEAT_OK","summary":"s","actions":[` + noop + `]}`:                                   "token: belongs to status ok",
		report(strings.Replace(noop, `"reason"`, `"goal"`, 1)):                                                                 "actions[0]",
		report(strings.Replace(noop, `noop`, `rm`, 1)):                                                                         "actions[0].kind",
		report(`{"kind":"add_comment","idempotency_key":"k","risk":"low","needs_approval":false,"project_id":"p","body":"b"}`): "must have target_agent_id",
		report(fmt.Sprintf(approval, fmt.Sprintf(approval, noop))):                                                             "actions[0].proposed_action.kind",
		report(strings.TrimSuffix(strings.Repeat(noop+",", 201), ",")):                                                         "at most 200",
		"none": "no JSON object",
	} {
		answer, issues := checkReports(answer.Values(text), "job_1", "run_1")
		if answer != nil || !strings.HasPrefix(fmt.Sprint(issues[0].Code), "heartbeat_report_") || !strings.Contains(fmt.Sprint(issues), want) {
			t.Errorf("%.90s: %+v", text, issues)
		}
	}
	good, issues := checkReports(answer.Values(report(noop+","+fmt.Sprintf(approval, noop))), "job_1", "run_1")
	if good == nil || good.report.Actions[1].Approval.Proposed.Noop.Reason != "r" {
		t.Fatalf("%+v", issues)
	}
	text, err := indented(good.report)
	if err != nil {
		t.Fatal(err)
	}
	again, ok := answer.Parse(string(text))
	if !ok {
		t.Fatal("a stored report is no JSON")
	}
	if back, err := doc.BindHeartbeatReport(&again); err != nil || len(back.Actions) != 2 {
		t.Errorf("a stored report cannot be read: %v\n%s", err, text)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	r := blank(doc.ResultSucceeded, strings.Repeat("ä", 1201))
	for i := range 30 {
		r.FilesChanged = append(r.FilesChanged, doc.FileChanged{Path: fmt.Sprint(i), Summary: strings.Repeat("s", 181)})
		r.CommandsRun = append(r.CommandsRun, doc.CommandRun{Command: strings.Repeat("c", 300), ExitCode: shape.Value{Kind: shape.Null}})
		r.Artifacts = append(r.Artifacts, doc.JobArtifact{Relpath: fmt.Sprint(i)})
		r.NextActions = append(r.NextActions, doc.NextAction{Action: strings.Repeat("n", 220)})
	}
	d := digestOf(r, Signals{})
	if n := len([]rune(d.Summary)); n != 1200 || !strings.HasSuffix(d.Summary, "ä...") {
		t.Errorf("the summary has %d characters", n)
	}
	if len(d.FilesChanged) != 20 || len(d.CommandsRun) != 20 || len(d.Artifacts) != 30 || len(d.NextActions) != 20 || d.Errors == nil {
		t.Errorf("%d files, %d commands, %d artifacts, %d actions", len(d.FilesChanged), len(d.CommandsRun), len(d.Artifacts), len(d.NextActions))
	}
	if len(d.FilesChanged[0].Summary) != 180 || len(d.CommandsRun[0].Command) != 220 || strings.HasSuffix(d.NextActions[0].Action, "...") {
		t.Error("a text was cut at a wrong place")
	}
	text, err := indented(d)
	if err != nil || !strings.Contains(string(text), `"exit_code": null`) {
		t.Errorf("%s (%v)", text, err)
	}
}

// FuzzOutput looks for output that takes long to parse or breaks an invariant of the parser.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{okResult, "```json\n{}\n```", `{"result":"{\"a\":1,}"}`, strings.Repeat("{", 300), "\uFEFF[", `{"a":"\u00`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"codex", "claude", "gemini"} {
			found := textOf("stdout.txt", name, text)
			values := answer.Values(found)
			if len(values) > 1100 {
				t.Errorf("%d candidates", len(values))
			}
			if answer, issues := checkResults(values, "j", "r"); (answer == nil) == (len(issues) == 0) {
				t.Errorf("%+v with %+v", answer, issues)
			}
			checkReports(values, "j", "r")
		}
	})
}
