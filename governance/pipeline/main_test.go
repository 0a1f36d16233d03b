package pipeline_test

// The test binary plays the supervisor, the guard and, under their names, the agent CLIs. The fake
// CLIs print what the real ones print.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/runs/session"
	"ac/runs/session/supervisor"
)

// binDir names the environment variable with the directory of the fake agent CLIs. They are links
// to the test binary.
const binDir = "AC_TEST_BIN"

func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); name {
	case "codex", "claude", "gemini":
		os.Exit(fakeCLI(name, os.Args[1:]))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand:
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as in the program: our launcher may be gone
			executable, err := os.Executable()
			if err == nil {
				err = supervisor.Main(executable, os.Stdin, os.Stdout, nil)
			}
			os.Exit(exitOf(err))
		}
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		executable, lookErr := os.Executable()
		err = errors.Join(
			lookErr,
			os.Setenv("XDG_RUNTIME_DIR", dir),        // for the sockets
			os.Setenv("GORACE", "atexit_sleep_ms=0"), // instrumented programs linger for a second each
			os.Setenv(binDir, dir),
		)
		for _, name := range []string{"codex", "claude", "gemini"} {
			err = errors.Join(err, os.Symlink(executable, filepath.Join(dir, name)))
		}
	}
	if err != nil {
		return exitOf(err)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		return exitOf(err)
	}
	return code
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// word finds the instruction for a fake CLI in its prompt: DO(something).
var word = regexp.MustCompile(`DO\((\w+)\)`)

// fakeCLI plays an agent CLI. It completes the document at the end of its prompt or follows the
// DO(something) of the prompt.
func fakeCLI(name string, args []string) int {
	prompt, last := "", ""
	if len(args) > 0 {
		prompt = args[len(args)-1]
	}
	if at := slices.Index(args, "--output-last-message"); at >= 0 {
		last = args[at+1]
	}
	if name == "codex" || !strings.Contains(prompt, "---") {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return exitOf(err)
		}
		prompt = string(text)
	}
	_, template, found := strings.Cut(prompt, "The document to complete:\n\n")
	if !found {
		return exitOf(errors.New("the prompt has no document"))
	}
	answer := complete(template)
	if what := word.FindStringSubmatch(prompt); what != nil {
		var code int
		if answer, code = misbehave(what[1], template, answer); code >= 0 {
			return code
		}
	}
	return exitOf(say(name, answer, last))
}

// complete writes something under every heading.
func complete(template string) string {
	return regexp.MustCompile(`(?m)^(## .*)$`).ReplaceAllString(template, "$1\n\nWritten by an agent, \"quoted\", with \\ and an é.")
}

// misbehave returns an odd answer, or an exit code.
func misbehave(what, template, answer string) (odd string, code int) {
	head, body, _ := strings.Cut(strings.TrimPrefix(answer, "---\n"), "---\n")
	change := func(key, value string) string {
		return "---\n" + regexp.MustCompile(`(?m)^`+key+`: .*$`).ReplaceAllString(head, key+": "+value) + "---\n" + body
	}
	switch what {
	case "fail":
		fmt.Fprintln(os.Stderr, "rate limit")
		return "", 3
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "wait":
		fmt.Println("waiting")
		time.Sleep(3 * time.Minute) // the test stops it long before
	case "empty":
		return "", -1
	case "blank":
		return " \n\n", -1
	case "fenced":
		return "```markdown\n" + answer + "```\n", -1
	case "talk":
		return "Here is the document:\n\n" + answer, -1
	case "partial":
		return template[:strings.LastIndex(template, "## ")], -1
	case "headless":
		return body, -1
	case "bare": // no headings
		return "---\n" + head + "---\n\nnothing\n", -1
	case "id", "type", "title", "visibility", "produced_by", "run_id", "context_pack_id":
		return change(what, map[string]string{"type": "proposal", "visibility": "private_agent"}[what]+map[bool]string{true: "", false: "other"}[what == "type" || what == "visibility"]), -1
	case "extra": // more than requested, which is allowed
		return "---\n" + head + "x_note: mine\n---\n" + body + "\n## More\n\ntext\n", -1
	case "crlf":
		return strings.ReplaceAll(answer, "\n", "\r\n"), -1
	case "secret":
		return answer + "\n" + os.Getenv("MY_API_KEY") + "\n", -1
	case "binary":
		return answer + "\xff\xfe", -1
	}
	return answer, -1
}

// say prints an answer in the format of the named CLI.
func say(name, answer, last string) error {
	line := func(v any) {
		text, err := json.Marshal(v)
		if err == nil {
			fmt.Printf("%s\n", text)
		}
	}
	switch name {
	case "codex":
		line(map[string]any{"type": "thread.started", "thread_id": "t"})
		line(map[string]any{"type": "item.completed", "item": map[string]any{"type": "agent_message", "text": answer}})
		line(map[string]any{"type": "turn.completed", "usage": map[string]any{"input_tokens": 100, "cached_input_tokens": 10, "output_tokens": 20}})
		if answer == "" {
			return nil // without an answer, codex writes no file
		}
		return os.WriteFile(last, []byte(answer), 0o600)
	case "claude":
		half := len(answer) / 2
		for half > 0 && half < len(answer) && answer[half]&0xC0 == 0x80 {
			half++
		}
		line(map[string]any{"type": "system", "subtype": "init"})
		for _, piece := range []string{answer[:half], answer[half:]} {
			line(map[string]any{"type": "stream_event", "event": map[string]any{"type": "content_block_delta", "delta": map[string]any{"type": "text_delta", "text": piece}}})
		}
		line(map[string]any{"type": "assistant", "message": map[string]any{"content": []any{map[string]any{"type": "text", "text": answer}}}})
		line(map[string]any{"type": "result", "subtype": "success", "result": answer})
	case "gemini":
		fmt.Println("{")
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		fmt.Printf("  \"response\": %s,\n  \"stats\": {\"models\": {\"gemini-x\": {\"tokens\": {\"prompt\": 50, \"candidates\": 7, \"total\": 57}}}}\n}\n", text)
	}
	return nil
}
