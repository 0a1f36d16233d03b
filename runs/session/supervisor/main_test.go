package supervisor_test

// The test binary plays every part: supervisor, guard, and providers of all
// kinds of behaviour.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/internal/durable/faultfs"
	"ac/internal/proc"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// providerCommand makes the test binary a provider. Its behaviour and the arguments for that
// follow.
const providerCommand = "provider"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			if filepath.Base(os.Args[0]) == bareGuard {
				os.Exit(exitOf(runBareGuard()))
			}
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand:
			os.Exit(supervise())
		case dyingCommand:
			os.Exit(exitOf(superviseUntil(os.Args[2], os.Args[3])))
		case startingCommand:
			os.Exit(exitOf(startUntil(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6])))
		case bareCommand, panicCommand:
			os.Exit(exitOf(bareMain(os.Args[1])))
		case hostCommand:
			os.Exit(exitOf(hostMain()))
		case "app-server", "-c": // settings may come before app-server
			os.Exit(appServerMain())
		case "--print":
			os.Exit(claudeMain())
		case "--acp-script":
			os.Exit(acpMain())
		case providerCommand:
			os.Exit(behave(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(runtimetest.With(m).Run())
}

// dyingCommand makes the test binary a supervisor with a fault: one file system call fails, or
// kills the supervisor. The number of the call and the kind of fault follow.
const dyingCommand = "dying"

func superviseUntil(call, how string) error {
	n, err := strconv.Atoi(call)
	if err != nil {
		return err
	}
	kind, err := strconv.Atoi(how)
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	var order session.Order
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		return err
	}
	if err := proc.BecomeSubreaper(); err != nil {
		return err
	}
	plan := faultfs.NewPlan(n, faultfs.Kind(kind))
	plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, order.WorkspaceDir)
	if err != nil {
		return err
	}
	if _, err = supervisor.Supervise(context.Background(), w, supervisor.Host{Executable: executable}, order); err != nil {
		return err
	}
	if plan.Hit() == "" {
		fmt.Println(unhurt)
	}
	return nil
}

// unhurt is the output of a process that met no fault.
const unhurt = "no fault was met"

func supervise() int {
	executable, err := os.Executable()
	if err != nil {
		return exitOf(err)
	}
	host := supervisor.Host{Executable: executable, BudgetPatience: 100 * time.Millisecond}
	return exitOf(supervisor.MainFor(host, os.Stdin, os.Stdout))
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// behave plays a provider and returns its exit code.
func behave(how string, words []string) int {
	switch how {
	case "print": // the texts for stdout and stderr follow
		fmt.Print(words[0])
		fmt.Fprint(os.Stderr, words[1])
	case "hear": // the prompt is the last argument
		said := words[len(words)-1]
		fmt.Println("heard: " + said)
		_, last, digest := strings.Cut(said, "\n---\n")
		if !digest {
			last = said
		}
		switch last {
		case "hold":
			forever()
		case "fail":
			fmt.Fprintln(os.Stderr, "no such file")
			return 3
		}
	case "exit":
		code, _ := strconv.Atoi(words[0])
		return code
	case "die":
		number, _ := strconv.Atoi(words[0])
		_ = syscall.Kill(os.Getpid(), syscall.Signal(number))
		forever()
	case "cat":
		n, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, n)
		return exitOf(err)
	case "files": // lists sockets beyond the three standard descriptors
		for fd := 3; fd < 64; fd++ {
			var st syscall.Stat_t
			if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFSOCK {
				fmt.Print(fd, " ")
			}
		}
	case "env":
		dir, _ := os.Getwd()
		fmt.Printf("%s\n%s\n%s", os.Getenv("ADDED"), os.Getenv("INHERITED"), dir)
	case "nest":
		depth, _ := strconv.Atoi(words[0])
		fmt.Print(strings.Repeat("[", depth) + strings.Repeat("]", depth) + "\n")
	case "flood": // so many bytes on one line
		total, _ := strconv.Atoi(words[0])
		block := bytes.Repeat([]byte("x"), 1<<16)
		for ; total > 0; total -= len(block) {
			if _, err := os.Stdout.Write(block[:min(total, len(block))]); err != nil {
				return 1
			}
		}
	case "split": // a UTF-8 sequence cut by a read, and another by the end
		_, _ = os.Stdout.Write([]byte("caf\xc3"))
		time.Sleep(100 * time.Millisecond) // probably two reads; one is fine
		_, _ = os.Stdout.Write([]byte("\xa9 \xff \xe2\x82"))
	default:
		return linger(how, words)
	}
	return 0
}

// linger plays providers that stay alive or leave processes behind.
func linger(how string, words []string) int {
	switch how {
	case "sleep":
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "yielding": // exits with 0 on SIGTERM
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		return 0
	case "quiet": // closes its pipes and stays alive
		for fd := range 3 {
			_ = syscall.Close(fd)
		}
		forever()
	case "family": // a child in its group, one in its own session, an orphan, and one without pipes
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		spawn(nil, "stubborn", "child")
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", "session")
		spawn(&syscall.SysProcAttr{Setsid: true}, "parent", "orphan")
		spawn(&syscall.SysProcAttr{Setsid: true}, "quiet")
	case "leave": // exits and leaves a child that holds the pipes
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", "left")
		return 0
	case "parent": // exits and leaves an orphan
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", words[0])
		return 0
	}
	fmt.Println("ready " + strings.Join(words, " "))
	forever()
	return 0
}

func spawn(attr *syscall.SysProcAttr, words ...string) {
	cmd := exec.Command(os.Args[0], append([]string{providerCommand}, words...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		fmt.Println("spawn failed:", err)
	}
}

// forever sleeps longer than any test takes. A provider that a test lost ends afterwards.
func forever() { time.Sleep(3 * time.Minute) }
