package autonoma

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"
)

func (s *stage) read(name string) string {
	s.T.Helper()
	text, err := os.ReadFile(filepath.Join(s.Repo, name))
	if err != nil {
		s.T.Fatal(err)
	}
	return string(text)
}

// TestCode checks that an agent answers each code action, and that its proposals can be previewed
// and applied.
func TestCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	var text string
	f := c.do("code.explain", object{"code": "print(1)", "language": "python", "filePath": ""}, &text)
	if text != "It **prints** 1." || len(f.LogID) != 36 {
		t.Errorf("%s", f.raw)
	}
	var found reviewed
	f = c.do("code.review", object{"code": "print(1)", "language": "python", "filePath": "*scratch*", "reviewType": "quality"}, &found)
	if !reflect.DeepEqual(found, reviewed{[]reviewedIssue{{"warning", "x is unused", 1, ""}}, "one issue"}) || strings.Contains(f.raw, `"path"`) {
		t.Errorf("%s", f.raw)
	}
	var tests []artifact
	c.do("code.generateTests", object{"code": "print(1)", "language": "python", "filePath": "src/x.py"}, &tests)
	if len(tests) != 3 || tests[1].Type != "test" || tests[2].Type != "code" || tests[0].Type != "test" || tests[0].Path != "src/test_x.py" || tests[0].Language != "python" || tests[0].Content != "assert True\n" {
		t.Errorf("%+v", tests)
	}
	// Preview and apply a proposal.
	var list []artifact
	c.do("code.refactor", object{"code": "print(1)", "language": "python", "filePath": filepath.Join(s.Repo, "src/x.py"), "instructions": "print 2"}, &list)
	if len(list) != 1 || list[0].Path != "src/x.py" || list[0].Content != "print(2)\n" || list[0].Type != "code" || !strings.HasPrefix(list[0].ID, "fa_") {
		t.Fatalf("%+v", list)
	}
	var shown previewResult
	c.do("artifacts.preview", object{"artifacts": list}, &shown)
	want := previewResult{[]filePreview{{"src/x.py", "modify", "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"}}}
	if !reflect.DeepEqual(shown, want) {
		t.Errorf("%+v", shown)
	}
	var done applyResult
	c.do("artifacts.apply", object{"artifacts": list}, &done)
	if done.Applied != 1 || done.Skipped != 0 || len(done.Errors) != 0 || done.CheckpointID == "" || s.read("src/x.py") != "print(2)\n" {
		t.Errorf("%+v: %s", done, s.read("src/x.py"))
	}
	c.do("artifacts.apply", object{"artifacts": list}, &done)
	if done.Applied != 0 || done.Skipped != 1 {
		t.Errorf("again: %+v", done)
	}
	// There is no file to write to.
	for _, path := range []string{"", "/etc/passwd", "../x.py"} {
		if why := c.refused("code.refactor", object{"code": "x", "language": "", "filePath": path}); why != path+" is outside the repository" {
			t.Errorf("%q: %s", path, why)
		}
	}
	// The saved file no longer contains the text.
	if why := c.refused("code.refactor", object{"code": "print(7)", "language": "python", "filePath": "src/x.py"}); !strings.Contains(why, "src/x.py: ") || !strings.Contains(why, "not in the saved file") {
		t.Error(why)
	}
}

// TestApply checks what preview and apply refuse, file by file.
func TestApply(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	file := func(path, content string) object {
		return object{"id": "", "type": "code", "path": path, "content": content, "language": ""}
	}
	all := []object{
		file("src/new.py", "new\n"), file("src/x.py", "print(1)\n"), file(filepath.Join(s.Repo, "src/abs.py"), "abs\n"), file("../out.py", "x"),
		file(".git/config", "x"), {"id": "fa_0000000000000000", "type": "code", "path": "a.py"}, file("src/new.py", "twice\n"),
	}
	var shown previewResult
	c.do("artifacts.preview", object{"artifacts": all}, &shown)
	var actions []string
	for i, row := range shown.Files {
		actions = append(actions, row.Action)
		if row.Path != all[i]["path"] {
			t.Errorf("row %d is of %s", i, row.Path)
		}
		if i >= 3 && (!strings.HasPrefix(row.Diff, "# "+row.Path+": ") || row.Action != "skip") {
			t.Errorf("%+v", row)
		}
	}
	if got := strings.Join(actions, " "); got != "create skip create skip skip skip skip" {
		t.Error(got)
	}
	// Apply leaves a file alone that changed since the preview.
	dialecttest.Write(t, filepath.Join(s.Repo, "src/new.py"), "somebody's\n")
	var done applyResult
	c.do("artifacts.apply", object{"artifacts": all[:3]}, &done)
	if done.Applied != 1 || done.Skipped != 1 || len(done.Errors) != 1 || done.Errors[0] != "src/new.py: the file changed since the preview; preview again" {
		t.Errorf("%+v", done)
	}
	if s.read("src/new.py") != "somebody's\n" || s.read("src/abs.py") != "abs\n" {
		t.Error("the wrong files were written")
	}
	c.do("artifacts.apply", object{"artifacts": all}, &done)
	if done.Applied+done.Skipped+len(done.Errors) != len(all) {
		t.Errorf("%d artifacts: %+v", len(all), done)
	}
	for _, none := range []any{object{"artifacts": nil}, object{}, object{"artifacts": []any{}}, nil} {
		if f := c.do("artifacts.preview", none, nil); string(f.Result) != `{"files":[]}` {
			t.Errorf("%s", f.raw)
		}
		if f := c.do("artifacts.apply", none, nil); string(f.Result) != `{"applied":0,"skipped":0,"errors":[]}` {
			t.Errorf("%s", f.raw)
		}
	}
}

// TestStillWorking checks an answer that takes longer than clients wait. It is deferred, shared
// by equal requests, and delivered once.
func TestStillWorking(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t, func(o *Options) { o.AnswerWithin = time.Second })
	c, other := s.dial(), s.dial()
	params := object{"code": "hold " + release, "language": "", "filePath": ""}
	why := c.refused("code.explain", params)
	id, _, found := strings.Cut(strings.TrimPrefix(why, "still working: task "), ";")
	if !found || !strings.HasPrefix(id, "job_") || !strings.HasSuffix(why, "; ask again in a moment to get its answer, or see background.output") {
		t.Fatal(why)
	}
	if again := other.refused("code.explain", params); again != why {
		t.Errorf("another client: %s", again)
	}
	dialecttest.Write(t, release, "")
	// Nobody waits now, so the clients whose requests were deferred are notified of the end.
	for _, who := range []*client{c, other} {
		who.Await("the end of the execution", func(f frame) bool {
			return f.Type == "execution.complete" && strings.Contains(f.raw, id) && strings.Contains(f.raw, `"text":"released"`)
		})
	}
	if text := c.explained(params); text != "released" {
		t.Errorf("asked again: %q", text)
	}
	var rows []backgroundTask
	if c.do("background.list", nil, &rows); len(rows) != 1 {
		t.Errorf("%d jobs for one request", len(rows))
	}
	// The answer was delivered, so the next request starts a new job.
	if text := c.explained(params); text != "released" {
		t.Errorf("asked once more: %q", text)
	}
	if c.do("background.list", nil, &rows); len(rows) != 2 {
		t.Errorf("%d jobs for two requests", len(rows))
	}
}

// TestStillWorkingAfterRestart checks that the next daemon also delivers a late answer.
func TestStillWorkingAfterRestart(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t, func(o *Options) { o.AnswerWithin = time.Second })
	params := object{"code": "hold " + release, "language": "", "filePath": ""}
	c := s.dial()
	why := c.refused("code.explain", params)
	id, _, _ := strings.Cut(strings.TrimPrefix(why, "still working: task "), ";")
	s.End()
	s.open(func(o *Options) { o.AnswerWithin = time.Second })
	c = s.dial()
	var r executionResult
	if c.do("execution.status", object{"executionId": id}, &r); r.Status != "running" && r.Status != "queued" {
		t.Errorf("%+v", r)
	}
	dialecttest.Write(t, release, "")
	if r = c.over(id); r.Status != "success" || r.Text != "released" {
		t.Errorf("%+v", r)
	}
	text := c.explained(params)
	var rows []backgroundTask
	c.do("background.list", nil, &rows)
	if text != "released" || len(rows) != 1 {
		t.Errorf("%q with %d jobs", text, len(rows))
	}
}

// TestTogether checks that equal concurrent requests share one job.
func TestTogether(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	clients := []*client{s.dial(), s.dial(), s.dial()}
	for _, c := range clients {
		c.Send(`{"id":1,"method":"code.explain","params":{"code":"hold ` + release + `","language":"python","filePath":"src/x.py"}}`)
	}
	dialecttest.Until(t, "all wait", func() bool {
		codes := s.server.codes
		codes.mu.Lock()
		defer codes.mu.Unlock()
		waiting := 0
		for _, n := range codes.waiting {
			waiting += n
		}
		return waiting == len(clients)
	})
	dialecttest.Write(t, release, "")
	for _, c := range clients {
		if f := c.answer("1"); string(f.Result) != `"released"` {
			t.Errorf("%s", f.raw)
		}
	}
	var rows []json.RawMessage
	if clients[0].do("background.list", nil, &rows); len(rows) != 1 {
		t.Errorf("%d jobs", len(rows))
	}
}

// TestTooManyWait checks how many slow requests of one connection may wait, and that other
// requests do not wait for them.
func TestTooManyWait(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	c := s.dial()
	for range maxWaiting {
		c.Send(`{"id":"slow","method":"code.explain","params":{"code":"hold ` + release + `","language":"","filePath":""}}`)
	}
	if why := c.refused("code.explain", object{"code": "print(1)"}); why != "too many requests are waiting (16)" {
		t.Error(why)
	}
	var rows []backgroundTask
	if c.do("background.list", nil, &rows); len(rows) != 1 {
		t.Errorf("%d jobs for equal requests", len(rows))
	}
	dialecttest.Write(t, release, "")
	for range maxWaiting {
		if f := c.answer(`"slow"`); string(f.Result) != `"released"` {
			t.Errorf("%s", f.raw)
		}
	}
}
