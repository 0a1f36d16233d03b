package main

// dialect:serve: the protocols of other programs, served on loopback.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/dialect"
	"ac/dialect/autonoma"
	"ac/feed"
	"ac/internal/fault"
	"ac/rpc"
	"ac/web"
	"ac/workspace"
	"ac/workspace/doc"
)

// dialectOptions are the options of dialect:serve.
type dialectOptions struct {
	project, as, role, team string
	repo, agent, level      string
	listen, origins         []string
	answerWithin            time.Duration
	heartbeat               bool
}

// exitRefused is the exit status of an address that may not be listened on.
const exitRefused = 2

func dialectServeCommand(a *app) *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use: "dialect:serve <names> <dir>", Short: "Serve the protocol of another program, for its clients", Args: args("names", "dir"),
		Long: `Serve the protocols of other programs for one project, until SIGINT or SIGTERM, so that
their clients act in it. The names are those of dialects with commas between; there is
one, autonoma, for the editors that attach to an Autonoma daemon.

The first line of output is the address. Nothing but this machine can reach it, and no
other user of this machine is served; there is no other authentication. Whatever a
client does is done as the actor of the options. Jobs go on when the server ends.

Exit status: 0 when ended by a signal, 2 for an address that is not of loopback.`,
		Example: `  ac dialect:serve autonoma ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S
  ac dialect:serve autonoma ./acme --project P --repo main --level read-only --listen 127.0.0.1:0`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := o.check(cmd, given[0]); err != nil {
				return err
			}
			return a.serveDialects(cmd.Context(), o, given[1])
		},
	}
	someProjectFlag(cmd, &o.project)
	flags := cmd.Flags()
	flags.Lookup("project").Usage = "id of the project (required)"
	flags.StringArrayVar(&o.listen, "listen", []string{autonoma.Address}, "address to listen on, port 0 for any free one; name=address for one of several")
	flags.StringVar(&o.as, "as", "human", "id of the actor of what clients do")
	flags.StringVar(&o.role, "role", "human", "role of the actor: human, ceo, director, manager or worker")
	flags.StringVar(&o.team, "team", "", "team of the actor")
	flags.StringVar(&o.repo, "repo", "", "repository where agents work and files go; the only one there is by default")
	flags.StringVar(&o.agent, "agent", "", "agent who serves what names no agent; the first that fits by default")
	flags.StringVar(&o.level, "level", "", "permission level of tasks: read-only, patch or run-commands; patch in a git repository by default")
	flags.DurationVar(&o.answerWithin, "answer-within", autonoma.DefaultAnswerWithin, "how long a client waits for a slow answer, 1s to 29s")
	flags.BoolVar(&o.heartbeat, "heartbeat", false, "let the heartbeat of the workspace tick as long as this serves")
	flags.StringArrayVar(&o.origins, "allow-origin", nil, "origin of pages that may connect; none by default")
	return cmd
}

// dialects are the names of those that there are.
func dialects() []string { return []string{autonoma.Name} }

// checkDialects refuses names, with commas between, that are of no dialect.
func checkDialects(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(dialects(), name) {
			return usageError{fmt.Sprintf("there is no dialect %q; there is: %s", name, strings.Join(dialects(), ", "))}
		}
	}
	return nil
}

func (o *dialectOptions) check(cmd *cobra.Command, names string) error {
	err := cmp.Or(
		checkDialects(names), require(cmd, "project", "as"), oneOf("role", o.role, doc.Roles()), checkID("project", o.project),
	)
	switch {
	case err != nil:
		return err
	case o.level != "" && !slices.Contains([]string{"read-only", "patch", "run-commands"}, o.level):
		return usageError{"--level must be read-only, patch or run-commands"}
	case o.answerWithin < time.Second || o.answerWithin > 29*time.Second:
		return usageError{"--answer-within must be from 1s to 29s"}
	case len(o.listen) != 1:
		return usageError{"--listen may be given once for each dialect"}
	}
	return nil
}

// serveDialects serves until a signal.
func (a *app) serveDialects(ctx context.Context, o dialectOptions, dir string) error {
	surviveReaders()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	stderr := rpc.NewLossy(a.stderr)
	defer stderr.Close()
	env := workspace.SystemEnv()
	hub := feed.NewHub(nil, env.Clock, env.IDs.New)
	host := company.New(company.Options{Env: env, Executable: a.executable, Hub: hub, Stderr: stderr, Version: buildVersion()})
	c := &dialect.Company{
		Host: host, Dir: dir, ProjectID: o.project, RepoID: o.repo, AgentID: o.agent, Version: buildVersion(), Clock: env.Clock,
		Actor: company.ActorParams{ActorID: o.as, ActorRole: o.role, ActorTeamID: o.team}, Log: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	if o.heartbeat {
		host.Observe(dir)
	}
	err := a.listenAndServe(ctx, c, o)
	hub.Close()
	err = errors.Join(err, host.Close())
	if fault.Is(err, fault.Denied) {
		_, _ = fmt.Fprintf(a.stderr, "ERROR: %v\n", err) // the exit status says it, too
		return exitError{exitRefused}
	}
	return err
}

func (a *app) listenAndServe(ctx context.Context, c *dialect.Company, o dialectOptions) error {
	if err := c.Check(ctx); err != nil {
		return err
	}
	address := strings.TrimPrefix(o.listen[0], autonoma.Name+"=")
	listener, err := autonoma.Listen(ctx, c, autonoma.Options{Address: address, Origins: o.origins, Level: o.level, AnswerWithin: o.answerWithin})
	if err != nil {
		return err
	}
	// The program that started it may not read its output.
	_, _ = fmt.Fprintf(a.rawStdout(), "AgentCompany %s: %s\nStop it with Ctrl+C.\n", listener.Name, listener.Addr)
	return serveAll(ctx, []dialect.Listener{listener})
}

// serveAll serves listeners until ctx is done, or one of them fails.
func serveAll(ctx context.Context, listeners []dialect.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make([]error, len(listeners))
	var wg sync.WaitGroup
	for i, l := range listeners {
		wg.Go(func() {
			defer stop()
			failures[i] = l.Serve(ctx)
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// dialectPlaces reads the dialects of a control room: names, or names with an address.
func dialectPlaces(given []string) (places []autonoma.Options, err error) {
	for _, words := range given {
		name, address, _ := strings.Cut(words, "=")
		if !slices.Contains(dialects(), name) {
			return nil, usageError{fmt.Sprintf("there is no dialect %q; there is: %s", name, strings.Join(dialects(), ", "))}
		}
		if len(places) > 0 {
			return nil, usageError{"--dialect " + name + " is given twice"}
		}
		places = append(places, autonoma.Options{
			Address: cmp.Or(address, autonoma.Address), Option: "--dialect " + name + "=ADDR", AnswerWithin: autonoma.DefaultAnswerWithin,
		})
	}
	return places, nil
}

// dialectsBeside opens the listeners of a control room's dialects: over its company, as its
// actor.
func dialectsBeside(o web.Options, places []autonoma.Options) func(context.Context, *company.Host) ([]dialect.Listener, error) {
	return func(ctx context.Context, host *company.Host) ([]dialect.Listener, error) {
		c := &dialect.Company{
			Host: host, Dir: o.WorkspaceDir, ProjectID: o.ProjectID, Version: o.Version, Clock: o.Env.Clock,
			Actor: o.Actor, Log: slog.New(slog.NewTextHandler(o.Stderr, nil)),
		}
		if err := c.Check(ctx); err != nil {
			return nil, err
		}
		list := make([]dialect.Listener, 0, len(places))
		for _, place := range places {
			l, err := autonoma.Listen(ctx, c, place)
			if err != nil {
				unserved, cancel := context.WithCancel(ctx)
				cancel()
				return nil, errors.Join(err, serveAll(unserved, list))
			}
			list = append(list, l)
		}
		return list, nil
	}
}
