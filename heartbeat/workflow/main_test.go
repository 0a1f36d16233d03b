package workflow_test

// The test binary plays every part: runner, guard, and the worker of each task.

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/runtimetest"
	"ac/runs/session"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "answerer" && len(os.Args) > 1 {
		os.Exit(exitOf(speak()))
	}
	if filepath.Base(os.Args[0]) == "answerer" {
		os.Exit(exitOf(work()))
	}
	if len(os.Args) > 1 {
		executable, err := os.Executable()
		if err != nil {
			os.Exit(exitOf(err))
		}
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case job.RunCommand:
			run := workflow.RunJob
			if filepath.Base(os.Args[0]) == dyingName {
				run = dying
			}
			os.Exit(exitOf(run(executable, os.Stdin, os.Stdout, nil)))
		}
	}
	os.Exit(runtimetest.With(m).Run())
}

// dyingName is the program name under which the test binary acts as a runner that dies.
const dyingName = "dying"

// dying acts as a runner that is killed between the end of its job and the next step.
func dying(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error {
	err := job.RunMain(executable, in, out, interrupt, nil)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return err
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// work acts as a worker. Its goal decides its answer. Each start is noted in a file in the
// workspace.
func work() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	prompt := string(text)
	goal, id := label(prompt, "goal"), label(prompt, "job_id")
	acts, err := os.OpenFile("acts-"+id, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := acts.WriteString("started\n"); err != nil {
		return err
	}
	how, arg, _ := strings.Cut(goal, " ")
	switch how {
	case "wait":
		fmt.Println("ready")
		time.Sleep(3 * time.Minute) // longer than any test
	case "pause": // until the file exists
		for _, err := os.Stat(arg); err != nil; _, err = os.Stat(arg) {
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Println(`{"text":"paused"}`)
	case "cannot":
		fmt.Println(`{"cannot":"` + arg + `"}`)
	case "judge":
		fmt.Printf("{\"approved\":%t,\"text\":\"more\"}\n", strings.Contains(prompt, "more"))
	case "plan":
		if strings.Contains(prompt, "begin reports") {
			fmt.Println(`{"done":true,"text":"all done","tasks":[]}`)
		} else {
			fmt.Println(`{"done":false,"text":"go","tasks":[{"agent":"one","goal":"say first"},{"agent":"two","goal":"say second"}]}`)
		}
	case "Write", "Approve", "Answer", "Sum", "Reach":
		fmt.Println(string(must(json.Marshal(founded(how, prompt)))))
	case "write":
		if err := os.WriteFile(arg, []byte(arg), 0o644); err != nil {
			return err
		}
		fallthrough
	default:
		fmt.Println(string(must(json.Marshal(map[string]string{"text": "[" + goal + "]"}))))
	}
	return nil
}

// founded returns the answers of workers in a new company's workflows.
func founded(how, prompt string) any {
	text := ""
	switch how {
	case "Approve":
		return map[string]any{"approved": strings.Contains(prompt, "second draft"), "text": "say it shorter"}
	case "Reach":
		if strings.Contains(prompt, "begin reports") {
			return map[string]any{"done": true, "text": "all done", "tasks": []any{}}
		}
		tasks := []any{map[string]string{"agent": "engineering", "goal": "say first"}, map[string]string{"agent": "product", "goal": "say second"}}
		return map[string]any{"done": false, "text": "go", "tasks": tasks}
	case "Write":
		text = "first draft"
		if strings.Contains(prompt, "say it shorter") {
			text = "second draft"
		}
	case "Answer":
		text = "a view"
	case "Sum":
		text = fmt.Sprintf("%d views", strings.Count(prompt, "a view"))
	}
	return map[string]string{"text": text}
}

func label(prompt, name string) string {
	for line := range strings.Lines(prompt) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+": "); ok {
			return value
		}
	}
	return ""
}

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
