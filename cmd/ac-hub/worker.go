package main

// The commands of a worker.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/fleet/worker"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
)

func (a *app) workerCommands() []*cobra.Command {
	return []*cobra.Command{a.workerJoin(), a.workerStart(), a.workerStatus()}
}

// maxToken is the maximum size of a token on stdin, in bytes.
const maxToken = 64 << 10

func (a *app) workerJoin() *cobra.Command {
	var dir string
	var slots int
	var labels []string
	cmd := &cobra.Command{
		Use: "worker:join TOKEN", Short: "Make this machine a worker of a hub, by an invitation", Args: rangeArgs(1, 1),
		Long: `Makes this machine a worker of a hub. TOKEN is what ac worker:invite printed; - reads it
from stdin, so that it stays out of the list of processes. The worker's folder is made
below $XDG_STATE_HOME/ac/workers, or where --dir says.`,
		Example: "  ac worker:join acw1_…\n  ac worker:join - --slots 4 --label gpu < token",
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if text == "-" {
				line, err := bufio.NewReader(io.LimitReader(a.stdin, maxToken)).ReadString('\n')
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				text = line
			}
			token, err := fleet.ParseToken(text)
			if err != nil {
				return err
			}
			for _, label := range labels {
				if !fleet.IsLabel(label) {
					return usageError{fmt.Errorf("--label: %q is no label", label)}
				}
			}
			if slots < 0 || slots > maxSlots {
				return usageError{fmt.Errorf("--slots: %d is not 1 to %d", slots, maxSlots)}
			}
			named := dir != ""
			if !named {
				dir = filepath.Join(a.workersDir(), token.Worker) // the worker's name is not known yet
			}
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			config, err := worker.Join(cmd.Context(), a.env, worker.JoinOptions{
				Token: token, Dir: dir, Slots: slots, Labels: labels, Version: a.version, Connect: carrier.ConnectWorker,
			})
			if err != nil {
				return err
			}
			if byName := filepath.Join(filepath.Dir(dir), config.Name); !named && fleet.IsName(config.Name) && os.Rename(dir, byName) == nil {
				dir = byName
			}
			_, err = fmt.Fprintf(a.stdout, "%s (%s) joined; its folder is %s\nStart it: ac worker:start --dir %s\n", config.Name, config.ID, dir, dir)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the worker's folder")
	cmd.Flags().IntVar(&slots, "slots", 0, "sessions at the same time (what the invitation says)")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "a label; counts where the invitation trusts them; repeatable")
	return cmd
}

const maxSlots = 1000

// workersDir returns the default directory of workers' folders.
func (a *app) workersDir() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "."
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "ac", "workers")
}

// folder returns the folder for a command: the one of --dir, otherwise the only one that exists.
func (a *app) folder(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	entries, err := os.ReadDir(a.workersDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, filepath.Join(a.workersDir(), entry.Name()))
		}
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.NotFound, "this machine is no worker; join a hub first with ac worker:join")
	case 1:
		return found[0], nil
	}
	return "", usageError{fmt.Errorf("this machine has several workers; name one with --dir: %s", strings.Join(found, ", "))}
}

// connected is what worker:start prints after the first accepted hello.
type connected struct {
	WorkerID  string `json:"worker_id"`
	Connected bool   `json:"connected"`
}

func (a *app) workerStart() *cobra.Command {
	var dir, onExit string
	var minFree int64
	cmd := &cobra.Command{
		Use: "worker:start", Short: "Execute sessions for the hub that this machine joined", Args: rangeArgs(0, 0),
		Long: `Executes sessions for the hub that this machine joined, in the foreground. It prints one
line of JSON when the hub has answered. SIGTERM and SIGINT end it; its sessions go on
and are found again by the next start, unless --on-exit stop is given.`,
		Example: "  ac worker:start\n  ac worker:start --dir /srv/worker --min-free 5000000000 --on-exit stop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onExit != "" && onExit != "stop" {
				return usageError{fmt.Errorf("--on-exit: %q is not stop", onExit)}
			}
			if minFree < 0 {
				return usageError{fmt.Errorf("--min-free: %d is negative", minFree)}
			}
			at, err := a.folder(dir)
			if err != nil {
				return err
			}
			executable, err := acProgram()
			if err != nil {
				return err
			}
			folder, err := worker.OpenFolder(cmd.Context(), a.env, at)
			if err != nil {
				return err
			}
			w, err := worker.Open(folder, worker.Host{
				Connect: carrier.ConnectWorker, Starter: worker.Supervisors{Executable: executable}, Environ: a.environ, Version: a.version, Speaks: a.speaks,
				Elapsed: clock.SinceBoot, Free: durable.Free, Probe: worker.ProbeAgents(a.environ), Judge: worker.JudgeProgram, Log: a.log(), MinFree: minFree, StopAtExit: onExit == "stop",
				Connected: func() {
					text, err := json.Marshal(connected{folder.Config.ID, true})
					if err == nil {
						fmt.Fprintf(a.stdout, "%s\n", text)
					}
				},
			})
			if err == nil {
				err = w.Run(cmd.Context())
			}
			err = errors.Join(err, folder.Close())
			if fault.Is(err, fleet.DuplicateWorker) {
				return fmt.Errorf("%s: %w", fleet.DuplicateWorker, err)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the worker's folder")
	cmd.Flags().StringVar(&onExit, "on-exit", "", "stop: stop the sessions at the end")
	cmd.Flags().Int64Var(&minFree, "min-free", 0, "take no order below so many free bytes (what the hub says)")
	return cmd
}

func (a *app) workerStatus() *cobra.Command {
	var dir string
	asJSON := false
	cmd := &cobra.Command{
		Use: "worker:status", Short: "Show the worker of this machine and what it executes", Args: rangeArgs(0, 0),
		Long:    `Shows the worker of this machine, from its folder. The exit code is 3 when it does not run.`,
		Example: "  ac worker:status\n  ac worker:status --json | jq .attempts",
		RunE: func(*cobra.Command, []string) error {
			at, err := a.folder(dir)
			if err != nil {
				return err
			}
			status, err := worker.ReadStatus(a.env, at)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(a.stdout)
				encoder.SetIndent("", "  ")
				err = encoder.Encode(status)
			} else {
				err = a.printStatus(status)
			}
			if err == nil && !status.Running {
				err = exitError{notRunning}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the worker's folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// notRunning is the exit code of worker:status if the worker is not running.
const notRunning = 3

func (a *app) printStatus(s worker.Status) error {
	state := "not running"
	if s.Running {
		state = "running"
	}
	if _, err := fmt.Fprintf(a.stdout, "%s (%s): %s\nhub: %s at %s\nslots: %d\n", s.Name, s.WorkerID, state, s.HubID, strings.Join(s.URLs, ", "), s.Slots); err != nil {
		return err
	}
	if len(s.Attempts) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROJECT\tRUN\tSTATE\tSHIPPED\tSEALED")
	for _, r := range s.Attempts {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", r.ProjectID, r.RunID, r.State, r.Sent, r.Sealed)
	}
	return table.Flush()
}
