package autonoma

// Tests of what reading the jobs costs when there are many.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/dialecttest"

	"ac/workspace"
)

// multiply makes n copies of a finished job.
func (s *stage) multiply(id string, n int) {
	s.T.Helper()
	from := filepath.Join(s.Dir, workspace.JobDir(s.Project, id))
	for i := range n {
		made := fmt.Sprintf("job_0COPY%04d", i)
		for _, e := range dialecttest.Must(os.ReadDir(from)) {
			if e.Type().IsRegular() {
				text := strings.ReplaceAll(string(dialecttest.Must(os.ReadFile(filepath.Join(from, e.Name())))), id, made)
				dialecttest.Write(s.T, filepath.Join(s.Dir, workspace.JobDir(s.Project, made), e.Name()), text)
			}
		}
	}
}

// TestOverIsNotRead checks that a poll lists finished jobs without reading them: a record that
// was seen finished is never read again. A client that connects later is not notified of their
// end.
func TestOverIsNotRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	var made executionStarted
	c.do("agents.invoke", object{"agentType": "Coder", "task": "say"}, &made)
	c.over(made.ExecutionID)
	s.End()
	s.multiply(made.ExecutionID, 20)
	s.open()
	c = s.dial()
	c.do("agents.list", nil, nil)
	for i := range 20 {
		file := filepath.Join(s.Dir, workspace.JobDir(s.Project, fmt.Sprintf("job_0COPY%04d", i)), "job.yaml")
		text := string(dialecttest.Must(os.ReadFile(file)))
		anew := strings.Replace(text, "status: completed", "status: queued", 1)
		if anew == text {
			t.Fatalf("%s is not over", text)
		}
		dialecttest.Write(t, file, anew)
	}
	if active := dialecttest.Must(s.server.activeRecords(t.Context())); len(active) != 0 {
		t.Errorf("%d records were read again", len(active))
	}
	c.do("agents.invoke", object{"agentType": "Coder", "task": "say more"}, &made)
	c.Await("the end", func(f frame) bool { return f.Type == "execution.complete" })
	for _, f := range c.Kept {
		if strings.Contains(f.raw, "job_0COPY") {
			t.Errorf("%s", f.raw)
		}
	}
}

// TestEndsWhileNobodyIsThere checks that a client is not notified of a task that ended before it
// connected.
func TestEndsWhileNobodyIsThere(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	first := s.dial()
	var made taskStarted
	first.do("background.launch", object{"agentType": "Coder", "task": "hold " + release}, &made)
	_ = first.Conn.CloseNow()
	dialecttest.Until(t, "the clients are gone", func() bool { return len(s.server.connections.All()) == 0 })
	dialecttest.Write(t, release, "")
	dialecttest.Until(t, "the task is over", func() bool {
		record := dialecttest.Must(s.server.record(t.Context(), made.TaskID))
		return record.Over()
	})
	second := s.dial()
	second.do("background.list", nil, nil)
	var next taskStarted
	second.do("background.launch", object{"agentType": "Coder", "task": "say"}, &next)
	second.Await("the end of the next task", func(f frame) bool {
		if strings.Contains(f.raw, made.TaskID) {
			t.Errorf("%s", f.raw)
		}
		return f.Type == "task.update" && strings.Contains(f.raw, next.TaskID) && strings.Contains(f.raw, `"completed"`)
	})
}
