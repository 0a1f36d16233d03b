package execution

// Commands that the program ac-hub implements. ac replaces itself with ac-hub.

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/proc"
)

// hubProgram is the program that implements the hub and the worker.
const hubProgram = "ac-hub"

// hubProgramVariable is the environment variable with another path of that program.
const hubProgramVariable = "AC_HUB_BIN"

// findHubProgram finds ac-hub: the one that the variable names, else the one beside this program,
// else the one in PATH.
func findHubProgram(a *cli.App) (string, error) {
	if named := os.Getenv(hubProgramVariable); named != "" {
		return exec.LookPath(named)
	}
	beside := filepath.Join(filepath.Dir(a.Executable), hubProgram)
	if resolved, err := filepath.EvalSymlinks(a.Executable); err == nil {
		beside = filepath.Join(filepath.Dir(resolved), hubProgram)
	}
	if found, err := exec.LookPath(beside); err == nil {
		return found, nil
	}
	found, err := exec.LookPath(hubProgram)
	if err != nil {
		return "", fault.New(fleet.NotInstalled,
			"ac-hub is not installed; it comes with ac: take it from the same archive, or build it with go build ./cmd/ac-hub, and put it beside ac or into PATH")
	}
	return found, nil
}

// byHubProgram returns a command that ac-hub runs with the same arguments. ac-hub checks them.
func byHubProgram(a *cli.App, use, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, given []string) error {
			for _, word := range given {
				if word == "--help" || word == "-h" {
					return cmd.Help()
				}
			}
			program, err := findHubProgram(a)
			if err != nil {
				return err
			}
			return proc.Replace(program, append([]string{hubProgram, cmd.Name()}, given...))
		},
	}
}

func hubStartCommand(a *cli.App) *cobra.Command {
	return byHubProgram(a, "hub:start <dir> [options]", "Run the hub, by which other machines execute sessions",
		`Run the hub of a workspace in the foreground, on the machine of its folder. When it is ready
it prints one line of JSON: hub_id, listen, advertise, fingerprint, pid. SIGTERM and SIGINT
end it within 2 seconds; sessions go on, and the next hub follows them.

  --listen HOST:PORT      where workers connect to (repeatable; default 127.0.0.1 and any port)
  --advertise HOST:PORT   the address that invitations name (repeatable; default: those of --listen)
  --nats URL --creds F    be carried by NATS servers of yours in place of listening (repeatable):
                          nats://HOST:PORT or tls://HOST:PORT, and the hub's credentials there
  --nats-ca F --replicas N   what their certificates are checked by; copies of each stream
  --tls-cert F --tls-key F   show this certificate in place of the hub's own
  --beat D --unreachable-after D --lease D --lease-margin D --claim-within D --on-cut-off stop|continue
                          settings for the life of this hub (see: ac help hub:config)

Needs the program ac-hub: AC_HUB_BIN names it, otherwise it is beside ac or in PATH.`,
		"  ac hub:start ./acme --listen 0.0.0.0:4222 --advertise build.example.org:4222")
}

func hubPermissionsCommand(a *cli.App) *cobra.Command {
	return byHubProgram(a, "hub:permissions <dir> --worker <worker>", "Print what a worker may do on NATS servers of yours",
		`Print the users that a worker needs on NATS servers of yours (hub:start --nats), as JSON: their
nkeys and permissions, in the words of the servers' configuration. An invited worker has the user
of its token until it joined, and a user of its own from then on: print it again after
worker:join. One that was revoked has none: take it out there. The hub need not run.

Needs the program ac-hub.`,
		"  ac hub:permissions ./acme --worker box")
}

func workerJoinCommand(a *cli.App) *cobra.Command {
	return byHubProgram(a, "worker:join <token> [options]", "Make this machine a worker of a hub",
		`Make this machine a worker of the hub that made the token (ac worker:invite). The token counts
once. With - it is read from stdin, so that it stays out of lists of processes. Prints the id
and the folder; then run ac worker:start.

  --dir D       the worker's folder (default: below XDG_STATE_HOME)
  --slots N     how many sessions at once
  --label L     a label of this machine (repeatable; counts with worker:invite --trust-labels)

Needs the program ac-hub.`,
		"  ac worker:join acw1_eyJoIjoi\n  ac worker:join - --slots 4 <token")
}

func workerStartCommand(a *cli.App) *cobra.Command {
	return byHubProgram(a, "worker:start [options]", "Execute sessions for a hub on this machine",
		`Execute sessions for the hub that this machine joined, in the foreground. Prints one line of
JSON at the first connection. SIGTERM and SIGINT end it; sessions go on, and the next
worker:start takes them over.

  --dir D             the worker's folder
  --min-free BYTES    take no session with less free space on the disk
  --on-exit stop      stop the sessions first when it ends

Needs the program ac-hub.`,
		"  ac worker:start\n  ac worker:start --dir /srv/worker --on-exit stop")
}

func workerStatusCommand(a *cli.App) *cobra.Command {
	return byHubProgram(a, "worker:status [options]", "Show how the worker of this machine does",
		`Show whether the worker of this machine runs, is connected, and what it executes. Exit status
3 when it does not run.

  --dir D    the worker's folder
  --json     print JSON

Needs the program ac-hub.`,
		"  ac worker:status --json")
}
