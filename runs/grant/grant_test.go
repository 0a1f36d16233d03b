package grant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ac/internal/fault"
	"ac/runs/grant"
	"ac/runs/grant/granttest"
	"ac/runs/interaction"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place returns a directory with a short path that only this user may enter, like the directory
// of sockets.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ac-g") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func who() grant.Identity {
	return grant.Identity{RunID: "run_a", ProjectID: "proj_a", AgentID: "agent_a", Interactive: true, Mode: "default", PermissionLevel: "patch"}
}

func supervised(t *testing.T, change func(*granttest.Supervisor)) (*granttest.Supervisor, string, *grant.Client) {
	t.Helper()
	s := &granttest.Supervisor{Who: who(), Now: time.Now}
	if change != nil {
		change(s)
	}
	file := s.Serve(t, place(t))
	c, err := grant.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, file, c
}

func TestIdentityComesFromTheSupervisor(t *testing.T) {
	t.Parallel()
	_, file, c := supervised(t, nil)
	if got := c.Identity(); got != who() {
		t.Errorf("the identity is %+v", got)
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the grant is %v %v", st.Mode(), err)
	}
	if _, _, err := grant.Write(filepath.Dir(file), granttest.Socket, func(int) string { return "" }); !os.IsExist(err) {
		t.Errorf("a second grant of a socket: %v", err)
	}
}

// TestGrantsThatAreRefused checks that only the file that the supervisor wrote is accepted, at
// its original path and while its session lives.
func TestGrantsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, file, _ := supervised(t, nil)
	dir := filepath.Dir(file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	elsewhere := place(t)
	open := filepath.Join(dir, "fedcba9876543210.grant")
	if err := os.Symlink(file, open); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(place(t), "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, says string }{
		"nothing":                   {filepath.Join(dir, "none.grant"), "does not exist"},
		"a wrong token":             {rewrite(t, elsewhere, string(text), "0123", "ffff"), "is over"}, // there is no socket
		"a copy of another session": {put("1111111111111111.grant", string(text), 0o600), "copy of another session"},
		"a link":                    {open, "only this user may read"},
		"read by others":            {put("2222222222222222.grant", string(text), 0o644), "only this user may read"},
		"in a shared directory":     {rewrite(t, shared, string(text), "", ""), "only this user may enter"},
		"no JSON":                   {put("3333333333333333.grant", "token", 0o600), "is no grant"},
		"of another version":        {put("4444444444444444.grant", `{"version":2,"socket":"4444444444444444","token":"`+strings.Repeat("a", 64)+`"}`, 0o600), "is no grant"},
		"a socket elsewhere":        {put("5555555555555555.grant", `{"version":1,"socket":"../x","token":"`+strings.Repeat("a", 64)+`"}`, 0o600), "is no grant"},
		"a directory":               {dir, "only this user may read"},
		"too long":                  {put("6666666666666666.grant", strings.Repeat(" ", 5000)+string(text), 0o600), "more than"},
	} {
		client, err := grant.Open(t.Context(), c.file)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if client != nil {
			t.Errorf("%s: there is a client", name)
		}
	}
	rewrite(t, dir, string(text), "0123", "ffff")
	if _, err := grant.Open(t.Context(), file); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "not for this session") {
		t.Errorf("a wrong token at the right socket: %v", err)
	}
	rewrite(t, dir, string(text), "", "")
	s.End()
	if _, err := grant.Open(t.Context(), file); !fault.Is(err, fault.Denied) {
		t.Errorf("when the session is over: %v", err)
	}
	grant.Remove(dir, granttest.Socket)
	grant.Remove(dir, "../x")
	if _, err := grant.Open(t.Context(), file); !fault.Is(err, fault.Denied) {
		t.Errorf("when the grant was removed: %v", err)
	}
}

// rewrite writes a changed grant into a directory, under its original name.
func rewrite(t *testing.T, dir, text, old, replaced string) string {
	t.Helper()
	name := filepath.Join(dir, granttest.Socket+".grant")
	if err := os.WriteFile(name, []byte(strings.Replace(text, `"token":"`+old, `"token":"`+replaced, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNothingIsAnsweredBeforeTheToken checks on the raw socket that every request without the
// right token is refused.
func TestNothingIsAnsweredBeforeTheToken(t *testing.T) {
	t.Parallel()
	s := &granttest.Supervisor{Who: who(), Now: time.Now}
	file := s.Serve(t, place(t))
	conn, err := net.Dial("unix", strings.TrimSuffix(file, ".grant")+".sock")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := json.NewDecoder(conn)
	for i, c := range []struct{ line, reason string }{
		{`{"version":2,"verb":"call","id":1,"params":{"arguments":{}}}`, "denied"},
		{`{"version":2,"verb":"ask","id":1,"params":{"question":"q"}}`, "denied"},
		{`{"version":2,"verb":"start_job","id":1,"params":{"job_id":"j"}}`, "denied"},
		{`{"version":2,"verb":"grant","id":1,"params":{"token":""}}`, "denied"},
		{`{"version":2,"verb":"grant","id":1,"params":{"token":"` + strings.Repeat("0", 64) + `"}}`, "denied"},
		{`{"version":2,"verb":"grant","id":1,"params":[]}`, "invalid_params"},
		{`{"version":2,"verb":"call","id":1,"params":{"arguments":{}}}`, "denied"},
		{`{"version":2,"verb":"stop","id":1}`, "unsupported"},
	} {
		if _, err := fmt.Fprintln(conn, c.line); err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Reason string
			Result json.RawMessage
		}
		if err := answers.Decode(&answer); err != nil || answer.Reason != c.reason || answer.Result != nil {
			t.Errorf("%d: %+v %v", i, answer, err)
		}
	}
	if _, asked := s.Asked("int_A"); asked || len(s.Jobs()) > 0 {
		t.Error("something was done")
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	s, file, c := supervised(t, nil)
	choice := grant.Question{Text: "Which colour\nshall it be?", Options: []string{"Red", "Blue"}, MultiSelect: true, Context: "The page is grey."}
	record, err := c.Ask(t.Context(), grant.Ask{Question: choice})
	if err != nil || record.State != interaction.Open || record.InteractionID == "" {
		t.Fatalf("%+v %v", record, err)
	}
	shown, _ := s.Asked(record.InteractionID)
	if shown.Kind != interaction.Question || shown.Title != "Which colour shall it be?" || shown.Prompt != "Which colour\nshall it be?\n\nThe page is grey." ||
		len(shown.Questions) != 1 || !shown.Questions[0].Multi || len(shown.Options) != 2 || shown.OnTimeout != interaction.CancelOnTimeout {
		t.Errorf("people see %+v", shown)
	}
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if still, err := c.Await(soon, record.InteractionID); err != nil || still.State != interaction.Open {
		t.Errorf("when it is not waited for: %+v %v", still, err)
	}
	// Another process of the same agent may resume the question.
	other, err := grant.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if again, err := other.Ask(t.Context(), grant.Ask{InteractionID: record.InteractionID}); err != nil || again.State != interaction.Open {
		t.Errorf("taken up: %+v %v", again, err)
	}
	s.Resolve(t, record.InteractionID, &interaction.Answer{Answers: map[string][]string{grant.AnswerID: {"Red", "Blue"}}, By: "human"})
	for _, client := range []*grant.Client{c, other} {
		over, err := client.Await(t.Context(), record.InteractionID)
		if err != nil || over.State != interaction.Answered || !cmp.Equal(over.Answers[grant.AnswerID], []string{"Red", "Blue"}) || over.By != "human" {
			t.Errorf("the outcome is %+v %v", over, err)
		}
		if again, err := client.Ask(t.Context(), grant.Ask{InteractionID: record.InteractionID}); err != nil || again.State != interaction.Answered {
			t.Errorf("asked for once more: %+v %v", again, err)
		}
	}
	if _, err := c.Ask(t.Context(), grant.Ask{InteractionID: "int_none"}); !fault.Is(err, fault.InteractionNotFound) {
		t.Errorf("what nobody asked: %v", err)
	}
	if _, err := c.Await(t.Context(), "int_none"); !fault.Is(err, fault.InteractionNotFound) {
		t.Errorf("the outcome of what nobody asked: %v", err)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	s, _, c := supervised(t, nil)
	record, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "Which host?"}})
	if err != nil || record.Kind != interaction.Input || record.Questions != nil {
		t.Fatalf("%+v %v", record, err)
	}
	words := "staging"
	s.Resolve(t, record.InteractionID, &interaction.Answer{Text: &words, By: "ann"})
	if over, err := c.Await(t.Context(), record.InteractionID); err != nil || over.Text == nil || *over.Text != words {
		t.Errorf("%+v %v", over, err)
	}
}

func TestOpenQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	s, _, c := supervised(t, nil)
	var ids []string
	for range grant.MaxOpen {
		record, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, record.InteractionID)
	}
	if _, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}}); !fault.Is(err, fault.TooManyOpen) {
		t.Errorf("one more: %v", err)
	}
	s.Resolve(t, ids[1], nil)
	if over, err := c.Await(t.Context(), ids[1]); err != nil || over.State != interaction.Cancelled {
		t.Errorf("%+v %v", over, err)
	}
	if _, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}}); err != nil {
		t.Errorf("one in its place: %v", err)
	}
}

// TestManyQuestions asks more questions than are kept and checks that the newest is still
// known.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	s, file, c := supervised(t, nil)
	last := ""
	for range 250 {
		record, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}})
		if err != nil {
			t.Fatal(err)
		}
		last = record.InteractionID
		s.Resolve(t, last, nil)
		if _, err := c.Await(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	other, err := grant.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if again, err := other.Ask(t.Context(), grant.Ask{InteractionID: last}); err != nil || again.State != interaction.Cancelled {
		t.Errorf("the last: %+v %v", again, err)
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	_, _, c := supervised(t, func(s *granttest.Supervisor) { s.Who.Interactive = false })
	if _, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}}); !fault.Is(err, fault.NotInteractive) {
		t.Errorf("%v", err)
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	var at atomic.Int64
	_, file, c := supervised(t, func(s *granttest.Supervisor) {
		s.Now = func() time.Time { return time.Unix(at.Load(), 0) }
		s.Masked = func(value []byte) []byte { return []byte(strings.ReplaceAll(string(value), "hunter2", "***")) }
	})
	call, err := c.Call(t.Context(), json.RawMessage(`{"text":"hunter2"}`))
	if err != nil || string(call.Arguments) != `{"text":"***"}` || call.Identity != who() {
		t.Errorf("%+v %v", call, err)
	}
	if call, err = c.Call(t.Context(), nil); err != nil || string(call.Arguments) != `{}` {
		t.Errorf("no arguments: %+v %v", call, err)
	}
	// The limit applies to the run: another process of its agent does not raise it.
	other, err := grant.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i := 2; i < grant.CallsPerMinute; i++ {
		if _, err := other.Call(t.Context(), nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	for _, client := range []*grant.Client{c, other} {
		if _, err := client.Call(t.Context(), nil); !fault.Is(err, fault.RateLimited) {
			t.Errorf("one too many: %v", err)
		}
	}
	at.Add(60)
	if _, err := c.Call(t.Context(), nil); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestJobsAreStartedWhereThatIsAllowed(t *testing.T) {
	t.Parallel()
	s, _, c := supervised(t, nil)
	if err := c.StartJob(t.Context(), "job_a"); !fault.Is(err, fault.Denied) || len(s.Jobs()) > 0 {
		t.Errorf("%v %v", err, s.Jobs())
	}
	s, _, c = supervised(t, func(s *granttest.Supervisor) { s.Who.LaunchJobs = true })
	if err := c.StartJob(t.Context(), "job_a"); err != nil || !cmp.Equal(s.Jobs(), []string{"job_a"}) {
		t.Errorf("%v %v", err, s.Jobs())
	}
}

// TestTheEndOfTheSession checks that waiters return when the session ends, and later requests
// are denied.
func TestTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	s, _, c := supervised(t, nil)
	record, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan interaction.Record)
	go func() {
		over, _ := c.Await(context.Background(), record.InteractionID)
		waited <- over
	}()
	s.End()
	if over := <-waited; over.State != interaction.Open {
		t.Errorf("the outcome is %+v", over)
	}
	<-c.Gone()
	if _, err := c.Call(t.Context(), nil); !fault.Is(err, fault.Denied) {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.Ask(t.Context(), grant.Ask{Question: grant.Question{Text: "q"}}); !fault.Is(err, fault.Denied) {
		t.Errorf("a question: %v", err)
	}
}

// TestAnOlderSupervisor checks that Open reports a supervisor without the grant verb as
// unsupported.
func TestAnOlderSupervisor(t *testing.T) {
	t.Parallel()
	dir := place(t)
	file, _, err := grant.Write(dir, granttest.Socket, func(n int) string { return strings.Repeat("ab", n) })
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, granttest.Socket+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if json.NewDecoder(conn).Decode(&struct{}{}) == nil {
			_, _ = fmt.Fprintln(conn, `{"version":2,"id":1,"error":"unknown verb grant"}`)
		}
	}()
	if _, err := grant.Open(t.Context(), file); !fault.Is(err, fault.Unsupported) {
		t.Errorf("%v", err)
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	dir := place(t)
	want := `{"mcpServers":{}}`
	name, err := grant.WriteConfig(dir, granttest.Socket, []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
	grant.Remove(dir, granttest.Socket)
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("it was not removed: %v", err)
	}
}
