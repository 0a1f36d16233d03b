package job_test

// The test binary plays every part: runner, guard and, under their program names, workers with
// all kinds of behavior.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/durable/faultfs"
	"ac/internal/proc"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/workspace"
)

// dyingVariable is the environment variable with a number n: the runner kills itself at its
// n-th file system call.
const dyingVariable = "AC_TEST_DIES_AT"

// stillbornVariable is the environment variable that names a directory. The runner that manages
// to create it kills itself before it takes its job.
const stillbornVariable = "AC_TEST_STILLBORN"

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); isSpoken(os.Args[1:]) && slices.Contains([]string{"codex", "claude", "gemini", "answerer"}, name) {
		os.Exit(speak(name))
	}
	switch filepath.Base(os.Args[0]) {
	case "codex", "claude", "gemini":
		os.Exit(work(filepath.Base(os.Args[0]), os.Args[1:]))
	case "answerer":
		os.Exit(exitOf(command(os.Args[1:])))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case job.RunCommand:
			os.Exit(exitOf(runJob()))
		case "stay":
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
			forever()
		}
	}
	os.Exit(runtimetest.With(m).Run())
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runJob acts as a runner. Variables in its workers' environment tell it whether to die.
func runJob() error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var order job.Order
	if err := json.Unmarshal(text, &order); err != nil {
		return err
	}
	for _, entry := range order.Environ {
		if dir, ok := strings.CutPrefix(entry, stillbornVariable+"="); ok && os.Mkdir(dir, 0o700) == nil {
			return proc.Kill(os.Getpid())
		}
		if n, ok := strings.CutPrefix(entry, dyingVariable+"="); ok {
			return dieAt(executable, order, n)
		}
	}
	interrupt := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		close(interrupt)
	}()
	return job.RunMain(executable, bytes.NewReader(text), os.Stdout, interrupt, nil)
}

// dieAt acts as a runner that kills itself at its n-th file system call, counted from when it
// opens the workspace.
func dieAt(executable string, order job.Order, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	if err := proc.BecomeSubreaper(); err != nil {
		return err
	}
	plan := faultfs.NewPlan(n, faultfs.Death)
	plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, order.WorkspaceDir)
	if err != nil {
		return err
	}
	return job.Run(w, executable, order, nil, func(word string, _ error) {
		fmt.Printf("{\"phase\":%q}\n", word)
		_ = os.Stdout.Close()
	})
}

// work acts as a worker. Its goal decides how it behaves. Each start is noted in a file in the
// workspace, which is its working directory.
func work(name string, args []string) int {
	line := strings.Join(args, " ")
	switch {
	case line == "login status":
		fmt.Println("Logged in using ChatGPT")
		return 0
	case line == "--version":
		fmt.Println(name + " 1.2.3")
		return 0
	case line == "exec --help" && os.Getenv("NO_SCHEMA") == "":
		fmt.Println("  --output-schema <FILE>")
		return 0
	case strings.HasSuffix(line, "--help"):
		fmt.Println("usage: " + name)
		return 0
	}
	prompt := args[len(args)-1]
	if name != "gemini" {
		if os.Getenv("DEAF") != "" {
			return deaf()
		}
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return exitOf(err)
		}
		prompt = string(text)
	}
	if !strings.Contains(prompt, "\ngoal: ") {
		say(name, "heard: "+prompt)
		return 0
	}
	goal, id, run := label(prompt, "goal"), label(prompt, "job_id"), label(prompt, "attempt_run_id")
	note(id, run)
	return behave(name, goal, id, run, prompt)
}

func deaf() int {
	_ = os.Stdin.Close()
	fmt.Println("no, thanks")
	return 0
}

func label(prompt, name string) string {
	lines := bufio.NewScanner(strings.NewReader(prompt))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+": "); ok {
			return value
		}
	}
	return ""
}

// command acts as a worker without a driver. It prints its arguments, fails, waits, or echoes
// its arguments and stdin.
func command(args []string) error {
	if args[0] == "print" {
		fmt.Println(strings.Join(args[1:], "\n"))
		return nil
	}
	if args[0] == "fail" {
		return errors.New("no paper")
	}
	if said := args[len(args)-1]; args[0] == "hold" { // waits unless the prompt ends in "go"
		if strings.HasSuffix(said, "\ngo") {
			fmt.Println("went")
			return nil
		}
		fmt.Println("holding")
		forever()
	}
	text, err := io.ReadAll(os.Stdin)
	fmt.Print(strings.Join(args[1:], "|"), string(text))
	return err
}

// note appends one line in a single write.
func note(id, run string) {
	f, err := os.OpenFile("acts-"+id, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	_, _ = f.WriteString(run + "\n")
	_ = f.Close()
}

func behave(name, goal, id, run, prompt string) int {
	how, arg, _ := strings.Cut(goal, " ")
	repair := strings.Contains(prompt, "Validation issues to fix:")
	switch {
	case how == "garbage" || (how == "repair" && !repair) || (how == "reformat" && !strings.Contains(prompt, "strict reformatter")):
		say(name, "I would rather talk about {the weather}.")
		return 0
	case how == "tell" || (how == "mend" && repair):
		say(name, arg)
		return 0
	case how == "mend":
		say(name, `{"approved":"perhaps"}`)
		return 0
	case how == "write":
		if err := os.WriteFile(arg, []byte("written by "+id+"\n"), 0o644); err != nil {
			return exitOf(err)
		}
		if firstTry(prompt) {
			return 3
		}
	case how == "say":
		fmt.Println(arg)
		return 0
	case how == "fail" || (how == "once" && starts(id) == 1):
		fmt.Fprintln(os.Stderr, orBoom(arg))
		return 3
	case (how == "third" || how == "limited") && starts(id) < 3:
		return 3
	case how == "limited":
		fmt.Fprintln(os.Stderr, "429 Too Many Requests")
		return 3
	case how == "answer" || how == "half":
		answer := good(id, run)
		if how == "half" {
			answer = answer[:len(answer)/2]
		}
		say(name, answer)
		fmt.Println("ready")
		forever()
	case how == "sleep" || how == "third":
		fmt.Println("ready")
		forever()
	case how == "stubborn":
		signal.Ignore(syscall.SIGTERM)
		cmd := exec.Command("/proc/self/exe", "stay")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			return exitOf(err)
		}
		fmt.Println("ready")
		forever()
	case how == "slow":
		ms, _ := strconv.Atoi(arg)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	say(name, good(id, run))
	return 0
}

func firstTry(prompt string) bool {
	return !strings.Contains(prompt, "The attempt before this one did not end properly")
}

func orBoom(text string) string {
	if text == "" {
		return "boom"
	}
	return text
}

func starts(id string) int {
	text, _ := os.ReadFile("acts-" + id)
	return strings.Count(string(text), "\n")
}

func good(id, run string) string {
	if os.Getenv("HEARTBEAT") != "" {
		return os.Getenv("HEARTBEAT")
	}
	return `{"schema_version":1,"type":"result","job_id":"` + id + `","attempt_run_id":"` + run + `","status":"succeeded","summary":"all good",` +
		`"files_changed":[],"commands_run":[{"command":"true","exit_code":null,"summary":null}],"artifacts":[],"next_actions":[],"errors":[]}`
}

// say prints an answer in the format of a CLI.
func say(name, answer string) {
	switch name {
	case "codex":
		fmt.Printf("{\"type\":\"thread.started\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"thinking {\"}}\n")
		fmt.Printf("{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":%q}}\n", answer)
		fmt.Printf("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}\n")
	case "claude":
		fmt.Printf("{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":\"result\",\"subtype\":\"success\",\"result\":%q}\n", answer)
	case "gemini":
		fmt.Printf("{\n  \"response\": %q,\n  \"stats\": {}\n}\n", answer)
	}
}

// forever blocks longer than any test takes, but not forever, so that a lost worker ends.
func forever() { time.Sleep(3 * time.Minute) }
