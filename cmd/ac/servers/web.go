package servers

// ui:web: serving the control room to a browser.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/internal/shape"
	"ac/rpc"
	"ac/web"
	"ac/workspace"
	"ac/workspace/doc"
)

// webOptions holds the options of ui:web.
type webOptions struct {
	company.UIParams
	bindIndex   func() // applies the index flags
	actor       company.ActorParams
	host, port  string
	allowRemote bool
	allowLaunch bool
	token       bool
	quietAfter  time.Duration
	dialects    []string // name or name=address
	heartbeat   bool
	terminals   bool
}

func webCommand(a *cli.App) *cobra.Command {
	var o webOptions
	cmd := &cobra.Command{
		Use: "ui:web <dir>", Short: "Serve the control room of a workspace to a browser", Args: cli.Args("dir"),
		Long: `Serve the control room of a workspace to a browser, until SIGINT or SIGTERM. It shows all
projects, and begins with that of --project.

The first line of output is the address. Only this machine can reach it, unless --host
is a remotely reachable address and --allow-remote is given; then every request needs
the token at the end of that line. Every action is carried out as the actor of the
options.

The page steers runs, answers agents and decides. It starts runs only with --allow-launch:
to start one is to run a program of one's choice. Other users of this machine may look and
change nothing; where the system does not report whose a connection is, --allow-launch needs
the token on loopback, too.

With --dialect the same process also serves the clients of another program, on loopback
and as the same actor, with the defaults of dialect:serve. Their address is the second
line, and is on the page under Health.

Exit status: 0 when ended by a signal.`,
		Example: `  ac ui:web ./acme --allow-launch
  ac ui:web ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S
  ac ui:web ./acme --project P --actor agent_01M7WQGXAP99SWTSCT0CFT93KZ --role manager --port 0
  ac ui:web ./acme --project P --host 0.0.0.0 --allow-remote
  ac ui:web ./acme --project P --dialect autonoma`,
		RunE: func(cmd *cobra.Command, given []string) error {
			o.bindIndex()
			options, err := o.web(cmd)
			if err != nil {
				return errors.New(err.Error()) // plain text: the parent process shows the message
			}
			options.WorkspaceDir = given[0]
			places, err := dialectPlaces(o.dialects)
			if err != nil {
				return err
			}
			return serveWeb(cmd.Context(), a, options, places)
		},
	}
	cli.SomeProjectFlag(cmd, &o.ProjectID)
	cli.ScreenLimitFlags(cmd, &o.ScreenLimits)
	o.bindIndex = cli.IndexFlags(cmd, &o.IndexStep)
	flags := cmd.Flags()
	flags.Lookup("project").Usage = "id of the project to begin with, or its name"
	flags.StringVar(&o.actor.ActorID, "actor", "human", "id of the actor")
	flags.StringVar(&o.actor.ActorRole, "role", "manager", "role of the actor: human, ceo, director, manager or worker")
	flags.StringVar(&o.actor.ActorTeamID, "team", "", "team of the actor")
	flags.StringVar(&o.host, "host", "127.0.0.1", "address or name to listen on")
	flags.StringVar(&o.port, "port", "8787", "port to listen on, 0 for any free one")
	flags.StringArrayVar(&o.dialects, "dialect", nil, "serve the clients of another program too, by the name of the dialect, or name=address; may be repeated")
	flags.BoolVar(&o.allowRemote, "allow-remote", false, "allow --host to be an address that other machines can reach; every request then needs a token")
	flags.BoolVar(&o.allowLaunch, "allow-launch", false, "let the page start runs and workflows")
	flags.BoolVar(&o.token, "token", false, "require a token on loopback, too")
	flags.DurationVar(&o.quietAfter, "quiet-after", time.Minute, "call a live run quiet that has written nothing for so long")
	flags.BoolVar(&o.terminals, "terminals", false, "let dialects beside the page have consoles: shells on this machine")
	flags.BoolVar(&o.heartbeat, "heartbeat", false, "let the heartbeat of the workspace tick as long as this serves")
	return cmd
}

// web returns the options of the server, and an error for invalid ones.
func (o *webOptions) web(cmd *cobra.Command) (options web.Options, err error) {
	port, notPort := strconv.ParseUint(strings.TrimSpace(o.port), 10, 16)
	if notPort != nil {
		err = cli.UsageError{Message: "--port must be an integer from 0 to 65535"}
	}
	needs := []string{"actor", "host"}
	if len(o.dialects) > 0 {
		needs = append(needs, "project")
	}
	if o.ProjectID != "" || cmd.Flags().Changed("project") {
		err = cmp.Or(err, checkID("project", o.ProjectID))
	}
	if o.quietAfter <= 0 {
		err = cmp.Or(err, error(cli.UsageError{Message: "--quiet-after must be a positive duration, such as 60s"}))
	}
	err = cmp.Or(cli.Require(cmd, needs...), cli.OneOf("role", o.actor.ActorRole, doc.Roles()), err)
	return web.Options{
		Env: workspace.SystemEnv(), ProjectID: o.ProjectID, Actor: o.actor,
		Limits:       o.ScreenLimits,
		RefreshIndex: o.RefreshIndex, SyncIndex: o.SyncIndex,
		Host: o.host, Port: int(port), AllowRemote: o.allowRemote, AllowLaunch: o.allowLaunch, Token: o.token,
		QuietAfter: o.quietAfter, Heartbeat: o.heartbeat, Terminals: o.terminals,
	}, err
}

// checkID returns an error for an id that cannot be the name of a directory.
func checkID(name, id string) error {
	if why := shape.CheckID(id); why != "" {
		return cli.UsageError{Message: "--" + name + " " + why}
	}
	return nil
}

func serveWeb(ctx context.Context, a *cli.App, options web.Options, places []dialectPlace) error {
	cli.SurviveReaders()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	stderr := rpc.NewLossy(a.Stderr)
	defer stderr.Close()
	options.Executable, options.Version, options.Stderr = a.Executable, a.Version, stderr
	if len(places) > 0 {
		options.Dialects = dialectsBeside(options, places)
	}
	server, err := web.Listen(ctx, options)
	if err != nil {
		return err
	}
	// The parent process may not read this output.
	_, _ = fmt.Fprintf(a.RawStdout(), "AgentCompany Manager Web: %s\n%sStop it with Ctrl+C.\n", server.URL(), addressLines(server.Dialects()))
	return server.Serve(ctx)
}
