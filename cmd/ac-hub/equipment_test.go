package main

// What an agent on another machine has of its workspace: ac tools, MCP servers, a model
// profile, attached files.

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operations "ac/company"
	"ac/company/equipment"
	"ac/company/orchestration"
	"ac/fleet"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/mcpserver"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// secretOver is the value of a variable that only workers have.
const secretOver = "value-that-only-the-worker-has"

// speaking is a company where only the workers have a conversational agent.
type speaking struct {
	*company
	all   *operations.Host
	dir   operations.Dir
	agent string
}

func (c *company) speaking() *speaking {
	c.t.Helper()
	over := c.t.TempDir()
	if err := link(os.Getenv(programVariable), filepath.Join(over, "codex")); err != nil {
		c.t.Fatal(err)
	}
	clean := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"OPENAI_API_KEY", "CODEX_API_KEY"}, name)
	})
	c.environ = slices.Concat(clean, []string{"PATH=" + over + string(os.PathListSeparator) + os.Getenv("PATH"), "OVER=" + secretOver})
	s := &speaking{company: c, dir: operations.Dir{WorkspaceDir: c.w.Dir()}}
	var err error
	if s.agent, err = c.w.NewAgent(c.t.Context(), workspace.AgentSpec{Name: "Cora", Role: "worker", Provider: "codex"}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.w.NewAgent(c.t.Context(), workspace.AgentSpec{Name: "Ben", Role: "manager", Provider: "codex"}); err != nil {
		c.t.Fatal(err)
	}
	s.all = operations.New(operations.Options{Env: workspace.SystemEnv(), Executable: filepath.Join(c.bin, "ac")})
	c.t.Cleanup(func() {
		if err := s.all.Close(); err != nil {
			c.t.Error(err)
		}
	})
	c.hire("box", 2)
	c.kill(c.workers["box"])
	file := filepath.Join(c.folders["box"], "worker.yaml")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(text, "secrets: {over: {env: OVER}}\n"...), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.startWorker("box")
	return s
}

// run creates a run.
func (s *speaking) run() session.Order {
	s.t.Helper()
	made, err := runs.Create(s.t.Context(), s.w, s.project, s.agent, "codex")
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Order{ProjectID: s.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID)}
}

// say launches the session of a run on the worker with a prompt.
func (s *speaking) say(o session.Order, prompt string, change func(*orchestration.LaunchParams)) error {
	s.t.Helper()
	p := orchestration.LaunchParams{Dir: s.dir, ProjectID: o.ProjectID, RunID: o.RunID, SessionRef: o.SessionRef}
	p.PromptText, p.Driver, p.LanePriority = &prompt, session.DriverCodex, "normal"
	p.Placement = &doc.Placement{Where: doc.WhereRemote, SecretRefs: map[string]string{"LENT_TOKEN": "over"}}
	p.By("human", "human", "")
	if change != nil {
		change(&p)
	}
	_, err := operations.Do(s.t.Context(), s.all, orchestration.Operations.Launch, p)
	return err
}

// said waits for the end of a run and returns its agent's messages and the raw text of its log.
func (s *speaking) said(o session.Order) (messages []string, all string) {
	s.t.Helper()
	if record := s.collect(o); record.Status != doc.StatusEnded {
		s.t.Fatalf("%s: %s", record.Status, record.Error)
	}
	_, printed := s.log(o)
	for line := range strings.Lines(printed) {
		var m struct {
			Params struct {
				Item struct {
					Text string `json:"text"`
				} `json:"item"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.Params.Item.Text != "" {
			messages = append(messages, m.Params.Item.Text)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.LogFile(o.ProjectID, o.RunID))))
	if err != nil {
		s.t.Fatal(err)
	}
	return messages, string(text)
}

// asked waits until the agent of a run asks a question, and returns it.
func (s *speaking) asked(o session.Order) interaction.Record {
	s.t.Helper()
	var open []interaction.Record
	s.until("it asks", func() bool {
		list, err := operations.Do(s.t.Context(), s.all, orchestration.Operations.OpenInteractions, orchestration.RunPolicyParams{Dir: s.dir, ProjectID: o.ProjectID, RunID: o.RunID})
		if err != nil {
			s.t.Fatal(err)
		}
		open = list
		return len(open) == 1
	})
	return open[0]
}

// TestToolsOfAcOverThere checks that an agent on a worker has only two ac tools: who_am_i,
// answered from the order, and ask_human, whose questions are asked and answered here as usual.
func TestToolsOfAcOverThere(t *testing.T) {
	t.Parallel()
	s := newCompany(t).speaking()
	o := s.run()
	if err := s.say(o, `tools | who_am_i {} | ask_human {"question":"Which way?","options":["left","right"],"wait_ms":60000} | my_task {}`, func(p *orchestration.LaunchParams) {
		p.Tools(true, false)
		p.Ask(true)
	}); err != nil {
		t.Fatal(err)
	}
	asked := s.asked(o)
	if asked.Prompt != "Which way?" || asked.Tool != "ask_human" {
		t.Errorf("%+v", asked)
	}
	answer := orchestration.RespondParams{InteractionID: asked.InteractionID, Answers: map[string][]string{"answer": {"left"}}}
	answer.Act(s.w.Dir(), o.ProjectID, o.RunID, "human", "human", "")
	s.until("it is answered", func() bool {
		_, err := operations.Do(t.Context(), s.all, orchestration.Operations.Respond, answer)
		if err != nil && !fault.Is(err, fleet.WorkerUnreachable) { // a busy machine may be unreachable for a while
			t.Fatal(err)
		}
		return err == nil
	})
	messages, all := s.said(o)
	if len(messages) != 4 || strings.Join(strings.Fields(messages[0]), " ") != "ask_human who_am_i" {
		t.Fatalf("%q", messages)
	}
	var self struct {
		Agent      struct{ ID, Name string }
		RunID      string `json:"run_id"`
		Project    struct{ Name string }
		Company    string
		Colleagues []struct{ Name string }
		WorkingDir string `json:"working_dir"`
	}
	if err := json.Unmarshal([]byte(messages[1]), &self); err != nil {
		t.Fatalf("%q: %v", messages[1], err)
	}
	if self.Agent.ID != s.agent || self.Agent.Name != "Cora" || self.RunID != o.RunID || self.Project.Name != "P" || self.Company != "Acme" ||
		len(self.Colleagues) != 1 || self.Colleagues[0].Name != "Ben" || !strings.HasPrefix(self.WorkingDir, s.folders["box"]) {
		t.Errorf("%+v", self)
	}
	if !strings.Contains(messages[2], `"state":"answered"`) || !strings.Contains(messages[2], `"answer":"left"`) || !strings.Contains(messages[3], "unknown tool") {
		t.Errorf("%q", messages[2:])
	}
	if strings.Count(all, "does not have the tools of ac but who_am_i and ask_human") != 1 {
		t.Error("no notice lists the missing tools")
	}
}

// TestMCPServersOverThere checks that servers without a stored value reach the worker and get
// its variables. A notice lists those with a stored value or with a missing variable.
func TestMCPServersOverThere(t *testing.T) {
	t.Parallel()
	s := newCompany(t).speaking()
	for id, env := range map[string]map[string]string{
		"open": {"TOKEN": "{env:LENT_TOKEN}"}, "stored": {"API_TOKEN": "stored-value-of-this-machine"}, "poor": {"TOKEN": "{env:NOBODY_HAS_THIS}"},
	} {
		change := mcpserver.Change{ID: id, Transport: new(doc.TransportStdio), Command: new("server-of-" + id), Env: &env}
		if _, err := operations.Do(t.Context(), s.all, equipment.Operations.PutMCPServer, equipment.PutMCPServerParams{Dir: s.dir, PersonParams: person(), Change: change}); err != nil {
			t.Fatal(err)
		}
	}
	o := s.run()
	if err := s.say(o, "servers", nil); err != nil {
		t.Fatal(err)
	}
	messages, all := s.said(o)
	if len(messages) != 1 || !strings.Contains(messages[0], "server-of-open") || strings.Contains(messages[0], "server-of-stored") || strings.Contains(messages[0], "server-of-poor") {
		t.Errorf("%q", messages)
	}
	if strings.Contains(all, secretOver) {
		t.Error("the value of the worker is in the log")
	}
	for _, want := range []string{"MCP server stored, which has a value that is stored here", "MCP server poor needs the variable NOBODY_HAS_THIS"} {
		if !strings.Contains(all, want) {
			t.Errorf("no notice says %q", want)
		}
	}
	s.without("stored-value-of-this-machine")
	s.without(secretOver)
}

// without checks that no file contains the value: neither in the hub's folder, which includes
// the carrier's store, nor in the workspace's work folder, nor in the worker's folder.
func (s *speaking) without(value string) {
	s.t.Helper()
	for _, dir := range []string{filepath.Join(s.w.Dir(), ".local", "hub"), filepath.Join(s.w.Dir(), "work"), s.folders["box"]} {
		err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // it is gone meanwhile
			}
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), value) {
				s.t.Errorf("%s has the value %q", name, value)
			}
			return nil
		})
		if err != nil {
			s.t.Error(err)
		}
	}
}

func person() operations.PersonParams {
	return operations.PersonParams{ActorID: "human", ActorRole: "human"}
}

// TestAModelProfileOverThere checks that the agent receives a profile whose key comes from the
// worker. A profile with a stored key is refused, even with placement "any".
func TestAModelProfileOverThere(t *testing.T) {
	t.Parallel()
	s := newCompany(t).speaking()
	put := func(name, key string) {
		t.Helper()
		change := modelprofile.Change{Provider: new("openai"), Model: new("model-of-" + name), BaseURL: new("https://models.example.org/v1"), APIKey: &key}
		if _, err := operations.Do(t.Context(), s.all, equipment.Operations.PutModelProfile, equipment.PutModelProfileParams{Dir: s.dir, PersonParams: person(), Name: name, Change: change}); err != nil {
			t.Fatal(err)
		}
	}
	put("lent", "{env:LENT_TOKEN}")
	put("stored", "stored-key-of-this-machine")
	o := s.run()
	if err := s.say(o, "words | variable AC_MODEL_API_KEY", func(p *orchestration.LaunchParams) { p.ModelProfile = "lent" }); err != nil {
		t.Fatal(err)
	}
	messages, all := s.said(o)
	if len(messages) != 2 || !strings.Contains(messages[0], "https://models.example.org/v1") || messages[1] == "AC_MODEL_API_KEY=" || strings.Contains(all, secretOver) {
		t.Errorf("%q", messages)
	}
	run, err := runs.Load(s.w, o.ProjectID, o.RunID)
	record, readErr := session.Read(s.w, o.SessionRef)
	if err = errors.Join(err, readErr); err != nil || run.ModelProfile != "lent" || record.ModelProfile != "lent" {
		t.Errorf("%+v %+v: %v", run, record, err)
	}
	refused := s.run()
	for _, where := range []string{doc.WhereRemote, doc.WhereAny} {
		err := s.say(refused, "words", func(p *orchestration.LaunchParams) { p.ModelProfile, p.Placement.Where = "stored", where })
		if e, ok := errors.AsType[*fault.Error](err); !ok || len(e.Issues) != 1 || e.Issues[0].Field() != "model_profile" || !strings.Contains(e.Issues[0].Message, "secret_refs") {
			t.Errorf("%s: %v", where, err)
		}
	}
	s.without(secretOver)
	s.without("stored-key-of-this-machine")
}

// TestLongTextsTravel checks that a prompt and a stdin too long for an order arrive unchanged
// on the worker.
func TestLongTextsTravel(t *testing.T) {
	t.Parallel()
	s := newCompany(t).speaking()
	o := s.run()
	if err := s.say(o, "length "+strings.Repeat("é", 500_000), nil); err != nil {
		t.Fatal(err)
	}
	if messages, _ := s.said(o); !slices.Equal(messages, []string{"1000000"}) {
		t.Errorf("%q", messages)
	}
	order := s.order("wc -c", nil)
	order.Stdin = new(strings.Repeat("0123456789abcdef", 1<<17))
	s.ask(fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
	s.collect(order)
	if _, printed := s.log(order); strings.TrimSpace(printed) != "2097152" {
		t.Errorf("it read %q bytes", printed)
	}
}

// TestAttachedFilesTravel checks that files attached before the launch lie beside the working
// directory on the worker. Attaching a file to a session that is live there is refused.
func TestAttachedFilesTravel(t *testing.T) {
	t.Parallel()
	s := newCompany(t).speaking()
	o := s.run()
	attach := func(name, content string) error {
		p := orchestration.AttachParams{Name: name, Content: base64.StdEncoding.EncodeToString([]byte(content))}
		p.Act(s.w.Dir(), o.ProjectID, o.RunID, "human", "human", "")
		_, err := operations.Do(t.Context(), s.all, orchestration.Operations.Attach, p)
		return err
	}
	big := strings.Repeat("0123456789abcdef", 1<<17) // larger than one message allows
	if err := errors.Join(attach("plan.txt", "the plan\n"), attach("big.bin", big)); err != nil {
		t.Fatal(err)
	}
	if err := s.say(o, `attached plan.txt | ask_human {"question":"go on?","wait_ms":60000}`, func(p *orchestration.LaunchParams) {
		p.Tools(true, false)
		p.Ask(true)
	}); err != nil {
		t.Fatal(err)
	}
	s.until("it asks", func() bool { types, _ := s.log(o); return count(types, "interaction.requested") == 1 })
	if err := attach("late.txt", "late"); !fault.Is(err, fault.Unsupported) {
		t.Errorf("to a session over there: %v", err)
	}
	if _, err := session.Stop(t.Context(), s.w, o.SessionRef); err != nil {
		t.Fatal(err)
	}
	s.collect(o)
	if _, printed := s.log(o); !strings.Contains(printed, "the plan") {
		t.Errorf("it read %q", printed)
	}
	var size int64
	err := filepath.WalkDir(s.folders["box"], func(name string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "big.bin") {
			st, err := entry.Info()
			size = st.Size()
			return err
		}
		return err
	})
	if err != nil || size != int64(len(big)) {
		t.Errorf("the large file has %d bytes over there: %v", size, err)
	}
	if err := attach("after.txt", "after"); err != nil {
		t.Errorf("behind the session: %v", err)
	}
	var status fleet.StatusResult
	s.ask(fleet.HubStatus, struct{}{}, &status)
}
