//go:build agents

package agentbench

// An editor that connects to a company by the Autonoma protocol, with the real agent CLIs.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

// editor is a connection to the daemon of a company.
type editor struct {
	t    *testing.T
	conn *websocket.Conn
	n    int
}

// attach starts a daemon and connects to it.
func (c *company) attach() *editor {
	c.t.Helper()
	return &editor{t: c.t, conn: c.dialect("autonoma")}
}

// dialect serves a dialect in a separate process and connects to it.
func (c *company) dialect(name string) *websocket.Conn {
	c.t.Helper()
	return c.dial(c.daemon(name).url)
}

// daemon is a process that serves a dialect.
type daemon struct {
	url string
	cmd *exec.Cmd
}

func (c *company) daemon(name string) *daemon {
	c.t.Helper()
	cmd := exec.Command(acBinary, "dialect:serve", name, c.dir, "--project", c.project, "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Dir, cmd.Stderr = c.environ, c.home, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	d := &daemon{cmd: cmd}
	c.t.Cleanup(func() { d.end(c.t, syscall.SIGTERM) })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "AgentCompany "+name+": ")
	if err != nil || !found {
		c.t.Fatalf("%q (%v)", line, err)
	}
	d.url = url
	return d
}

// end ends the daemon. It is idempotent.
func (d *daemon) end(t *testing.T, by syscall.Signal) {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(by)
	if err := d.cmd.Wait(); err != nil && by == syscall.SIGTERM {
		t.Errorf("the daemon ended: %v", err)
	}
	d.cmd = nil
}

// dial connects to a socket of a daemon.
func (c *company) dial(url string) *websocket.Conn {
	c.t.Helper()
	conn, answer, err := websocket.Dial(c.t.Context(), url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn
}

// ask sends a request, and repeats it while the daemon is still working on it.
func (e *editor) ask(method string, params object, into any) {
	e.t.Helper()
	for {
		e.n++
		id := fmt.Sprintf("req_%d", e.n)
		text, err := json.Marshal(object{"id": id, "method": method, "params": params})
		if err == nil {
			err = e.conn.Write(e.t.Context(), websocket.MessageText, text)
		}
		if err != nil {
			e.t.Fatal(err)
		}
		var f struct {
			ID     string
			Result json.RawMessage
			Error  string
		}
		for f.ID != id {
			_, text, err := e.conn.Read(e.t.Context())
			if err == nil {
				f.ID, f.Error = "", ""
				err = json.Unmarshal(text, &f)
			}
			if err != nil {
				e.t.Fatal(err)
			}
		}
		if strings.HasPrefix(f.Error, "still working: ") {
			continue
		}
		if f.Error != "" {
			e.t.Fatalf("%s: %s", method, f.Error)
		}
		if err := json.Unmarshal(f.Result, into); err != nil {
			e.t.Fatalf("%s: %v in %s", method, err, f.Result)
		}
		return
	}
}

// TestEditor requests an explanation, a review and a refactoring of code, and applies the
// proposed files.
func TestEditor(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			switch {
			case asks(r, "one answer of kind review"):
				return final(r, object{"issues": []object{{"severity": "warning", "message": "It prints.", "line": 1, "suggestion": nil, "path": nil}}, "summary": "One issue.", "cannot": nil})
			case asks(r, "one answer of kind files"):
				return final(r, object{"files": []object{{"path": "one.py", "content": nil, "selection": "print(2)", "delete": nil, "language": nil, "kind": nil, "summary": nil}}, "summary": "Two.", "cannot": nil})
			}
			return final(r, object{"text": "It prints **1**.", "summary": nil, "cannot": nil})
		})
		repo := c.repo()
		file := filepath.Join(repo, "one.py")
		if err := os.WriteFile(file, []byte("print(1)\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := c.attach()
		selection := object{"code": "print(1)", "language": "python", "filePath": file}
		var text string
		if e.ask("code.explain", selection, &text); text != "It prints **1**." {
			t.Errorf("%q", text)
		}
		var review struct {
			Issues  []struct{ Message string }
			Summary string
		}
		if e.ask("code.review", selection, &review); len(review.Issues) != 1 || review.Issues[0].Message != "It prints." || review.Summary != "One issue." {
			t.Errorf("%+v", review)
		}
		var proposed []json.RawMessage
		e.ask("code.refactor", selection, &proposed)
		var preview struct {
			Files []struct{ Path, Action, Diff string }
		}
		e.ask("artifacts.preview", object{"artifacts": proposed}, &preview)
		if len(preview.Files) != 1 || preview.Files[0].Action != "modify" || !strings.HasSuffix(preview.Files[0].Diff, "-print(1)\n+print(2)\n") {
			t.Errorf("%+v", preview)
		}
		var applied struct{ Applied int }
		e.ask("artifacts.apply", object{"artifacts": proposed}, &applied)
		if now, err := os.ReadFile(file); applied.Applied != 1 || string(now) != "print(2)\n" {
			t.Errorf("%+v: %q (%v)", applied, now, err)
		}
	})
}
