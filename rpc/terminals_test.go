package rpc

// Consoles over the wire.

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ac/workspace"
)

// TestConsole types into an attached console. All output arrives once and in order, the exit
// last. The log records what happened to the console, but not what was typed.
func TestConsole(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	dir := filepath.Join(t.TempDir(), "w")
	p.send(requestLine(1, "workspace.init", object{"workspace_dir": dir, "company_name": "Acme"}) + "\n")
	p.next()
	p.send(requestLine(2, "terminal.create", object{
		"workspace_dir": dir, "shell": "sh", "env": object{"PS1": "", "ENV": ""}, "actor_id": "human", "actor_role": "human",
	}) + "\n")
	var made struct {
		Result struct {
			ID string `json:"terminal_id"`
		}
	}
	decodeLine(t, p.next(), &made)
	in := object{"workspace_dir": dir, "terminal_id": made.Result.ID}
	p.send(requestLine(3, "terminal.attach", in) + "\n")
	p.next()
	p.send(requestLine(4, "terminal.write", object{"workspace_dir": dir, "terminal_id": made.Result.ID, "text": "echo the-$((40+2)); exit 3\n"}) + "\n")
	if seen := untilExited(t, p); !strings.Contains(seen, "the-42") {
		t.Errorf("%q", seen)
	}
	p.send(requestLine(5, "terminal.close", in) + "\n")
	for closed := false; !closed; {
		closed = strings.Contains(p.next(), `"id":5`)
	}
	p.finish()
	checkConsoleLog(t, filepath.Join(dir, filepath.FromSlash(workspace.TerminalsLog)), made.Result.ID)
}

// TestHeldText checks that a write to a program that does not read blocks no later request,
// and that closing the console ends the write.
func TestHeldText(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	dir := filepath.Join(t.TempDir(), "w")
	p.send(requestLine(1, "workspace.init", object{"workspace_dir": dir, "company_name": "Acme"}) + "\n")
	p.next()
	p.send(requestLine(2, "terminal.create", object{"workspace_dir": dir, "shell": "sh", "env": object{"PS1": "", "ENV": ""}}) + "\n")
	var made struct {
		Result struct {
			ID string `json:"terminal_id"`
		}
	}
	decodeLine(t, p.next(), &made)
	in := object{"workspace_dir": dir, "terminal_id": made.Result.ID}
	p.send(requestLine(3, "terminal.attach", in) + "\n")
	p.next()
	p.send(requestLine(4, "terminal.write", object{"workspace_dir": dir, "terminal_id": made.Result.ID, "text": "stty raw -echo; echo wait''ing; sleep 600\n"}) + "\n")
	for seen := ""; !strings.Contains(seen, "waiting"); {
		var n struct {
			Params struct {
				Data []byte `json:"data_base64"`
			}
		}
		decodeLine(t, p.next(), &n)
		seen += string(n.Params.Data)
	}
	p.send(requestLine(5, "terminal.write", object{"workspace_dir": dir, "terminal_id": made.Result.ID, "text": strings.Repeat("x", 256<<10)}) + "\n" +
		requestLine(6, "run.list", object{"workspace_dir": dir}) + "\n" + requestLine(7, "terminal.close", in) + "\n")
	order := ""
	for len(order) < 3 {
		var answer struct{ ID int }
		if decodeLine(t, p.next(), &answer); answer.ID >= 5 {
			order += strconv.Itoa(answer.ID)
		}
	}
	if order[0] != '6' {
		t.Errorf("the answers came as %s", order)
	}
	p.finish()
}

// untilExited returns the output of a console up to its exit.
func untilExited(t *testing.T, p *peer) string {
	t.Helper()
	var seen []byte
	for {
		var n struct {
			Method string
			Params struct {
				Cursor int64
				Data   string `json:"data_base64"`
				Code   int    `json:"exit_code"`
			}
		}
		decodeLine(t, p.next(), &n)
		switch n.Method {
		case "terminal.output":
			b, err := base64.StdEncoding.DecodeString(n.Params.Data)
			if err != nil || n.Params.Cursor != int64(len(seen)) {
				t.Fatalf("at %d: %+v, %v", len(seen), n, err)
			}
			seen = append(seen, b...)
		case "terminal.exited":
			if n.Params.Code != 3 {
				t.Errorf("%+v", n)
			}
			return string(seen)
		}
	}
}

// checkConsoleLog checks the log of a console that was opened, exited and was closed.
func checkConsoleLog(t *testing.T, name, id string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if of, err := os.Stat(name); err != nil || of.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", of, err)
	}
	var actions []string
	for line := range strings.Lines(string(text)) {
		var l struct {
			At         string
			Action     string
			TerminalID string `json:"terminal_id"`
			ActorID    string `json:"actor_id"`
			Via        string
			Shell      string
			CWD        string
			PID        int
			ExitCode   *int `json:"exit_code"`
		}
		decodeLine(t, line, &l)
		actions = append(actions, l.Action)
		if l.TerminalID != id || l.ActorID != "human" || l.At == "" || l.Shell == "" || l.CWD == "" || l.PID == 0 ||
			(l.ExitCode != nil) != (l.Action != "opened") || (l.Via == "stdio") != (l.Action != "exited") {
			t.Errorf("%s", line)
		}
	}
	if got := strings.Join(actions, " "); got != "opened exited closed" || strings.Contains(string(text), "the-") {
		t.Errorf("%s:\n%s", got, text)
	}
}

func decodeLine(t *testing.T, line string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}
