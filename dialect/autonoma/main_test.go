package autonoma

// TestMain lets the test binary act as runner, guard and the worker of each job.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"ac/dialect"
	"ac/dialect/dialecttest"
)

func TestMain(m *testing.M) {
	dialecttest.Main(m, dialecttest.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, map[string]func() error{"answerer": work}, func(ctx context.Context, c *dialect.Company) (dialect.Listener, error) {
		return Listen(ctx, c, Options{ListenOptions: dialect.ListenOptions{Dialect: Name, Address: "127.0.0.1:0"}, AnswerWithin: DefaultAnswerWithin})
	})
}

// work is a worker. Its answer depends on the goal and on the kind of answer that the prompt asks
// for.
func work() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	prompt := string(text)
	goal := label(prompt, "goal")
	how, arg, _ := strings.Cut(goal, " ")
	answer := map[string]any{}
	switch _, kind, _ := strings.Cut(prompt, "one answer of kind "); {
	case strings.HasPrefix(kind, "review"):
		answer["issues"] = []map[string]any{{"severity": "warning", "message": "x is unused", "line": 1, "path": "src/x.py"}}
		answer["summary"] = "one issue"
	case strings.HasPrefix(kind, "files") && strings.HasPrefix(goal, "Write tests"):
		answer["files"] = []map[string]any{{"path": "src/test_x.py", "content": "assert True\n"}, {"path": "checks/x.py", "content": "assert 1\n", "kind": "test"}, {"path": "checks/y.py", "content": "y = 1\n", "kind": "support"}}
		answer["summary"] = "a test"
	case strings.HasPrefix(kind, "files"):
		answer["files"] = []map[string]any{{"path": "src/x.py", "selection": "print(2)"}}
		answer["summary"] = "better"
	case how == "hold" || strings.Contains(prompt, "hold "):
		if _, rest, found := strings.Cut(prompt, "hold "); found {
			arg, _, _ = strings.Cut(rest, "\n")
		}
		fmt.Println("holding")
		for deadline := time.Now().Add(dialecttest.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(arg); err == nil {
				break
			}
		}
		answer["text"] = "released"
	case how == "fail":
		return fmt.Errorf("it failed: %s", arg)
	case how == "cannot":
		answer["cannot"] = arg
	case how == "write":
		if err := os.WriteFile(arg, []byte("written\n"), 0o644); err != nil {
			return err
		}
		answer["text"] = "wrote " + arg
	case strings.HasPrefix(goal, "Explain"):
		answer["text"] = "It **prints** 1."
	default:
		answer["text"] = "[" + goal + "]"
	}
	out, err := json.Marshal(answer)
	fmt.Println(string(out))
	return err
}

func label(prompt, name string) string {
	for line := range strings.Lines(prompt) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+": "); ok {
			return value
		}
	}
	return ""
}
