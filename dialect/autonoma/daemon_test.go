package autonoma

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/dialecttest"

	"github.com/coder/websocket"
)

// TestEnds checks the ends of cancelled and failed tasks, and that an end is final.
func TestEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	var made taskStarted
	c.do("background.launch", object{"agentType": "Coder", "task": "hold " + filepath.Join(t.TempDir(), "never")}, &made)
	c.Await("the task runs", func(f frame) bool {
		return f.Type == "task.update" && strings.Contains(f.raw, made.TaskID) && strings.Contains(f.raw, `"running"`)
	})
	var agents []agent
	dialecttest.Until(t, "the agent is busy", func() bool {
		c.do("agents.list", nil, &agents)
		return agents[0].Status == busy
	})
	if f := c.do("background.cancel", object{"taskId": made.TaskID}, nil); string(f.Result) != "null" || !strings.Contains(f.raw, `"result":null`) {
		t.Errorf("%s", f.raw)
	}
	c.Await("the task is over", func(f frame) bool {
		return f.Type == "task.update" && strings.Contains(f.raw, `"taskId":"`+made.TaskID+`","status":"cancelled"`)
	})
	if f := c.do("background.cancel", object{"taskId": made.TaskID}, nil); string(f.Result) != "null" {
		t.Errorf("again: %s", f.raw)
	}
	r := c.over(made.TaskID)
	if r.Status != "failure" || r.Error != "cancelled" || r.Artifacts == nil {
		t.Errorf("%+v", r)
	}
	var rows []backgroundTask
	if c.do("background.list", nil, &rows); len(rows) != 1 || rows[0].Status != "cancelled" || rows[0].ErrorMsg != "cancelled" {
		t.Errorf("%+v", rows)
	}
	var run executionStarted
	c.do("agents.invoke", object{"agentType": s.agent, "task": "cannot I am on holiday"}, &run)
	if r := c.over(run.ExecutionID); r.Status != "failure" || r.Error != "I am on holiday" || phaseOf(r.Phases) == "review" {
		t.Errorf("%+v", r)
	}
}

// TestFleetAndScans checks the methods that later clients added.
func TestFleetAndScans(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	var rows []fleetRow
	c.do("fleet.list", object{"capability": "WORKER"}, &rows)
	if len(rows) != 1 || rows[0] != (fleetRow{s.agent, s.agent, "Coder", "available", "worker", "worker", "local", s.agent, 0}) {
		t.Errorf("%+v", rows)
	}
	if c.do("fleet.list", object{"capability": "pilot"}, &rows); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	var one fleetAgent
	if c.do("fleet.status", object{"agentId": "Coder"}, &one); one.AgentID != s.agent || one.Version != "unknown" || one.Status != available {
		t.Errorf("%+v", one)
	}
	var all fleetSummary
	if c.do("fleet.status", nil, &all); all.Total != 1 || all.Available != 1 || all.ByCapability["worker"].Total != 1 {
		t.Errorf("%+v", all)
	}
	var made fleetStarted
	c.do("fleet.command", object{"target": "Coder", "command": "pause the music", "params": object{"loud": true}}, &made)
	if r := c.over(made.TaskID); made.TaskID != made.ExecutionID || r.Text != "[pause the music]" {
		t.Errorf("%+v: %+v", made, r)
	}
	for _, name := range []string{"main", ".", s.Repo, "file://" + s.Repo + "/"} {
		var scan scanStarted
		c.do("scan.techDebt", object{"repository_url": name}, &scan)
		if c.over(scan.JobID); name != "main" {
			continue
		}
		var state scanState
		f := c.do("scan.status", object{"job_id": scan.JobID}, &state)
		if state.Status != "completed" || state.Report == nil || state.Report.Kind != "tech_debt" || state.Report.Issues[0].Path != "src/x.py" || len(f.LogID) != 36 {
			t.Errorf("%s", f.raw)
		}
		c.do("feedback.submit", object{"conversation_log_id": f.LogID, "signal": "accept"}, nil)
	}
	if why := c.refused("scan.status", object{"job_id": made.TaskID}); why != "unknown task: "+made.TaskID {
		t.Error(why)
	}
}

// TestWorkflows checks templates and their runs: the answer before the first event, the steps,
// the phases and the end.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dialecttest.Write(t, filepath.Join(s.Dir, "org/workflows/docs/two.yaml"), fmt.Sprintf(`schema_version: 1
type: workflow
id: docs:two
name: Two
description: Twice.
flow: {kind: sequence, steps: [{kind: task, id: one, agent: {agent_id: %s}, goal: say one}, {kind: task, id: two, agent: {name: Coder}, goal: say two}]}
`, s.agent))
	c := s.dial()
	var rows []workflowRow
	f := c.do("workflows.list", object{"domain": "docs"}, &rows)
	if len(rows) != 1 || rows[0].ID != "docs:two" || rows[0].Domain != "docs" || rows[0].Pattern != "sequential" || rows[0].StepCount != 2 || rows[0].Agents[0] != "Coder" {
		t.Errorf("%s", f.raw)
	}
	if c.do("workflows.list", object{"domain": "sales"}, &rows); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	var made executionStarted
	c.do("workflows.run", object{"workflowId": "docs:two", "input": "x"}, &made)
	end := c.Await("the run is over", func(f frame) bool { return f.Type == "execution.complete" })
	var r executionResult
	if err := json.Unmarshal(end.Data, &r); err != nil || r.ExecutionID != made.ExecutionID || r.Status != "success" || r.Progress != 100 || r.Text != "[say two]" {
		t.Errorf("%s", end.raw)
	}
	var state workflowState
	f = c.do("workflows.status", object{"executionId": made.ExecutionID}, &state)
	if state.Status != "completed" || state.Progress != 100 || len(state.Steps) != 2 || state.Steps[0] != (workflowStep{"one", "Coder", "completed"}) || len(f.LogID) != 36 {
		t.Logf("%+v", state.Steps)
		if len(state.Steps) != 2 || state.Steps[0].Status != "completed" || state.Steps[0].Agent != "Coder" || state.Status != "completed" {
			t.Errorf("%s", f.raw)
		}
	}
	if f = c.do("workflows.cancel", object{"executionId": made.ExecutionID}, nil); string(f.Result) != "null" {
		t.Errorf("%s", f.raw)
	}
	if c.do("execution.status", object{"executionId": made.ExecutionID}, &r); r.Status != "success" {
		t.Errorf("after a cancel that came late: %+v", r)
	}
	var text string
	if c.do("background.output", object{"taskId": made.ExecutionID}, &text); !strings.HasSuffix(text, "== answer\n[say two]\n") {
		t.Errorf("%q", text)
	}
}

// TestManyClients checks the bound on connections, and that a client that does not read disturbs
// no other client.
func TestManyClients(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	deaf, answer, err := websocket.Dial(t.Context(), s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.CloseNow() }()
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	if err := deaf.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"method":"agents.list"}`)); err != nil {
		t.Fatal(err)
	}
	clients := make([]*client, maxConnections-1)
	for i := range clients {
		clients[i] = s.dial()
		clients[i].do("background.list", nil, nil)
	}
	_, refused, err := websocket.Dial(t.Context(), s.url, nil)
	if err == nil || refused == nil || refused.StatusCode != 503 {
		t.Errorf("one client too many: %v", err)
	}
	if refused != nil && refused.Body != nil {
		_ = refused.Body.Close()
	}
	var made taskStarted
	clients[0].do("background.launch", object{"agentType": "Coder", "task": "say it"}, &made)
	for i, c := range clients {
		f := c.Await("the task is over", func(f frame) bool { return f.Type == "task.update" && strings.Contains(f.raw, `"completed"`) })
		if !strings.Contains(f.raw, made.TaskID) {
			t.Errorf("client %d: %s", i, f.raw)
		}
	}
	// A client receives nothing before it has sent its first frame.
	_ = deaf.CloseNow()
	var quiet *websocket.Conn
	dialecttest.Until(t, "there is room for a client", func() bool {
		quiet, answer, err = websocket.Dial(t.Context(), s.url, nil) //nolint:bodyclose // closed below
		if answer != nil && answer.Body != nil {
			_ = answer.Body.Close()
		}
		return err == nil
	})
	defer func() { _ = quiet.CloseNow() }()
	clients[0].do("background.launch", object{"agentType": "Coder", "task": "say more"}, &made)
	clients[0].over(made.TaskID)
	if err := quiet.Write(t.Context(), websocket.MessageText, []byte(`{"id":9,"method":"no.such"}`)); err != nil {
		t.Fatal(err)
	}
	if _, text, err := quiet.Read(t.Context()); err != nil || !strings.HasPrefix(string(text), `{"id":9,`) {
		t.Errorf("%s (%v)", text, err)
	}
}

// TestOrder checks that requests of a connection see its earlier writes, and that each answer has
// its request's id, however many are in flight.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	for i := range 200 {
		c.Send(fmt.Sprintf(`{"id":%d,"method":"workflows.list"}`, i))
	}
	c.Send(`{"id":"w","method":"artifacts.apply","params":{"artifacts":[{"path":"order.txt","content":"1\n"}]}}`)
	c.Send(`{"id":"r","method":"artifacts.preview","params":{"artifacts":[{"path":"order.txt","content":"1\n"}]}}`)
	if f := c.answer(`"r"`); !strings.Contains(f.raw, `"skip"`) {
		t.Errorf("%s", f.raw)
	}
	for i := range 200 {
		c.answer(fmt.Sprint(i))
	}
}

// daemonProcess starts a daemon in its own process, and returns its address, its pid and a
// function that kills it.
func (s *stage) daemonProcess() (url string, pid int, kill func()) {
	s.T.Helper()
	cmd := exec.Command(dialecttest.Must(os.Executable()), dialecttest.Daemon, s.Dir, s.Project)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out := dialecttest.Must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	s.T.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid, kill
}

// TestKilled checks that executions outlive a killed daemon, and that another daemon knows them
// by the same ids. Two concurrent daemons know the same tasks.
func TestKilled(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	url, _, kill := s.daemonProcess()
	doomed := dial(t, url)
	var task taskStarted
	doomed.do("background.launch", object{"agentType": "Coder", "task": "hold " + release}, &task)
	doomed.Send(`{"id":"slow","method":"code.explain","params":{"code":"hold ` + release + `","language":"","filePath":""}}`)
	c := s.dial()
	var rows []backgroundTask
	dialecttest.Until(t, "the other daemon knows both tasks", func() bool {
		c.do("background.list", nil, &rows)
		return len(rows) >= 2
	})
	kill()
	for range doomed.In { // until the connection is closed
	}
	var r executionResult
	if c.do("execution.status", object{"executionId": task.TaskID}, &r); r.Status != "running" && r.Status != "queued" {
		t.Errorf("%+v", r)
	}
	dialecttest.Write(t, release, "")
	if r = c.over(task.TaskID); r.Status != "success" || r.Text != "released" {
		t.Errorf("%+v", r)
	}
	c.do("background.list", nil, &rows)
	for _, row := range rows {
		if r := c.over(row.ID); r.Status != "success" || r.Text != "released" {
			t.Errorf("%+v", r)
		}
	}
}

// TestKilledWhileApplying checks that an apply is atomic even if its daemon is killed.
func TestKilledWhileApplying(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	url, _, kill := s.daemonProcess()
	doomed := dial(t, url)
	var list []object
	for i := range 100 {
		list = append(list, object{"id": "", "type": "code", "path": fmt.Sprintf("many/f%d.txt", i), "content": "x\n", "language": ""})
	}
	doomed.do("agents.list", nil, nil)
	doomed.Send(string(dialecttest.Must(json.Marshal(object{"id": "a", "method": "artifacts.apply", "params": object{"artifacts": list}}))))
	dialecttest.Until(t, "files appear", func() bool { // during the apply, or just after it
		found, _ := filepath.Glob(filepath.Join(s.Repo, "many/*"))
		return len(found) > 0
	})
	kill()
	c := s.dial()
	var done applyResult
	// The next writer first finishes the interrupted apply.
	c.do("artifacts.apply", object{"artifacts": []object{{"path": "after.txt", "content": "y\n"}}}, &done)
	var shown previewResult
	c.do("artifacts.preview", object{"artifacts": list}, &shown)
	actions := map[string]int{}
	for _, row := range shown.Files {
		actions[row.Action]++
	}
	if len(actions) != 1 || done.Applied != 1 {
		t.Errorf("half of it: %v, then %+v", actions, done)
	}
}

// TestShutdown checks that a daemon that shuts down defers slow requests and answers them with a
// task id.
func TestShutdown(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	c := s.dial()
	c.Send(`{"id":"slow","method":"code.explain","params":{"code":"hold ` + release + `","language":"","filePath":""}}`)
	var rows []backgroundTask
	dialecttest.Until(t, "the job is there", func() bool {
		c.do("background.list", nil, &rows)
		return len(rows) > 0
	})
	s.End()
	if f := c.answer(`"slow"`); f.Error == nil || !strings.HasPrefix(*f.Error, "still working: task "+rows[0].ID) {
		t.Errorf("%s", f.raw)
	}
	dialecttest.Write(t, release, "")
	s.open()
	if r := s.dial().over(rows[0].ID); r.Status != "success" {
		t.Errorf("%+v", r)
	}
}
