package servers

// dialect:serve: the protocols of other programs, served on loopback.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/dialect"
	"ac/dialect/acecode"
	"ac/dialect/autonoma"
	"ac/dialect/comma"
	"ac/dialect/daemon"
	"ac/feed"
	"ac/internal/fault"
	"ac/rpc"
	"ac/web"
	"ac/workspace"
	"ac/workspace/doc"
)

// dialectOptions holds the options of dialect:serve.
type dialectOptions struct {
	project, as, role, team string
	repo, agent, level      string
	listen, origins         []string
	answerWithin            time.Duration
	heartbeat               bool
	strategies              []string
	isolation, onExit       string
	tokenFile               string
	dataDir                 string
	aceCodeOptions
}

func dialectServeCommand(a *cli.App) *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use: "dialect:serve <names> <dir>", Short: "Serve the protocol of another program, for its clients", Args: cli.Args("names", "dir"),
		Long: `Serve the protocols of other programs for one project, until SIGINT or SIGTERM, so that
their clients act in it. The names are those of dialects with commas between: autonoma
for the editors that attach to an Autonoma daemon, comma for the terminal program and
other clients of the comma daemon, acecode for the page, scripts and monitors of the
ACECode daemon. An option that is of one dialect is refused by others.

The first lines of output are the addresses. Nothing but this machine can reach them, and
no other user of this machine is served; there is no other authentication, unless
--token-file names a token. acecode also listens where other machines reach it: then every
request needs the token in <data-dir>/run/token. Whatever a client does is done as the actor of the options.
Jobs and runs go on when the server ends.

Exit status: 0 when ended by a signal, 2 for an address that is not of loopback, or a
token file that others can read. Of acecode also 3 for an address in use, 4 for a runtime
file that cannot be written, 5 for options that do not fit, 6 when another one runs.`,
		Example: `  ac dialect:serve autonoma ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S
  ac dialect:serve autonoma ./acme --project P --repo main --level read-only --listen 127.0.0.1:0
  ac dialect:serve comma ./acme --project P --strategies ~/strategies
  ac dialect:serve acecode ./acme --project P --data-dir ~/.acecode
  ac dialect:serve autonoma,comma ./acme --project P --listen comma=127.0.0.1:0`,
		RunE: func(cmd *cobra.Command, given []string) error {
			places, err := o.fit(cmd, given[0])
			if err != nil {
				return err
			}
			return serveDialects(cmd.Context(), a, o, places, given[1])
		},
	}
	o.flags(cmd)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = cmd.Root().FlagErrorFunc()(cmd, err)
		if cmd.Flags().Arg(0) == acecode.Name {
			err = daemon.Failed(daemon.ExitOptions, err)
		}
		return err
	})
	return cmd
}

// flags declares the options of a server of dialects.
func (o *dialectOptions) flags(cmd *cobra.Command) {
	cli.SomeProjectFlag(cmd, &o.project)
	flags := cmd.Flags()
	flags.Lookup("project").Usage = "id of the project (required)"
	flags.StringArrayVar(&o.listen, "listen", nil, "address to listen on, port 0 for any free one; name=address for one of several; the dialect's own by default")
	flags.StringVar(&o.as, "as", "human", "id of the actor of what clients do")
	flags.StringVar(&o.role, "role", "human", "role of the actor: human, ceo, director, manager or worker")
	flags.StringVar(&o.team, "team", "", "team of the actor")
	flags.StringVar(&o.repo, "repo", "", "repository where agents work and files go; the only one there is by default")
	flags.StringVar(&o.agent, "agent", "", "agent who serves what names no agent; the first that fits by default")
	flags.StringVar(&o.level, "level", "", "permission level of tasks, of comma the highest that agents of strategies get: read-only, patch or run-commands; by default patch in a git repository, of comma run-commands")
	flags.DurationVar(&o.answerWithin, "answer-within", autonoma.DefaultAnswerWithin, "how long a client waits for a slow answer, 1s to 29s")
	flags.BoolVar(&o.heartbeat, "heartbeat", false, "let the heartbeat of the workspace tick as long as this serves")
	flags.StringArrayVar(&o.strategies, "strategies", nil, "folder that strategies may be read from, beside the workspace, the linked repositories and ~/.comma")
	flags.StringVar(&o.isolation, "isolation", doc.IsolationNone, "how runs work in a repository: none, or worktree")
	flags.StringVar(&o.tokenFile, "token-file", "", "file with a token, of this user and closed to others, that every request then needs")
	flags.StringVar(&o.onExit, "on-exit", onExitKeep, "what becomes of the live runs that this started when it ends: keep, or stop")
	flags.StringVar(&o.dataDir, "data-dir", "", "folder whose run/ identifies the server: pid, port, guid; for acecode in the workspace by default")
	o.aceCodeOptions.flags(flags)
	flags.StringArrayVar(&o.origins, "allow-origin", nil, "origin of pages that may connect; none by default")
}

// dialectKind describes a dialect to the commands.
type dialectKind struct {
	name, address string   // default address to listen on
	options       []string // besides those of every dialect
	listen        func(ctx context.Context, c *dialect.Company, at dialect.ListenOptions, o dialectOptions) (dialect.Listener, error)
}

// dialects returns all dialects.
func dialects() []dialectKind {
	return []dialectKind{
		{autonoma.Name, autonoma.Address, []string{"answer-within", "allow-origin"},
			func(ctx context.Context, c *dialect.Company, at dialect.ListenOptions, o dialectOptions) (dialect.Listener, error) {
				return autonoma.Listen(ctx, c, autonoma.Options{ListenOptions: at, Level: o.level, AnswerWithin: cmp.Or(o.answerWithin, autonoma.DefaultAnswerWithin)})
			}},
		{comma.Name, comma.Address, []string{"strategies", "isolation", "token-file", "allow-origin", "on-exit"}, listenForComma},
		{acecode.Name, acecode.Address, []string{"isolation", "token-file", "allow-host", "no-terminals", "allow-open", "all-runs", "shape", "dangerous"}, listenForACECode},
	}
}

// listenForComma listens for clients of the comma daemon.
func listenForComma(ctx context.Context, c *dialect.Company, at dialect.ListenOptions, o dialectOptions) (dialect.Listener, error) {
	folders := o.strategies
	if home, err := os.UserHomeDir(); err == nil {
		folders = append([]string{filepath.Join(home, ".comma")}, folders...)
	}
	if o.tokenFile != "" {
		token, err := daemon.ReadToken(o.tokenFile)
		if err != nil {
			return dialect.Listener{}, err
		}
		at.Token = token
	}
	return comma.Listen(ctx, c, comma.Options{
		ListenOptions: at, Folders: folders, Level: doc.Level(o.level), Isolation: o.isolation, StopRuns: o.onExit == onExitStop,
	})
}

// What happens to the runs that a listener started when it ends.
const (
	onExitKeep = "keep"
	onExitStop = "stop"
)

func dialectNames() (names []string) {
	for _, k := range dialects() {
		names = append(names, k.name)
	}
	return names
}

// dialectPlace is a dialect and the address where it listens.
type dialectPlace struct {
	dialectKind
	at dialect.ListenOptions
}

// dialectNamed finds a dialect. For an unknown one it returns a cli.UsageError.
func dialectNamed(name string) (dialectKind, error) {
	all := dialects()
	i := slices.IndexFunc(all, func(k dialectKind) bool { return k.name == name })
	if i < 0 {
		return dialectKind{}, cli.UsageError{Message: fmt.Sprintf("there is no dialect %q; there is: %s", name, strings.Join(dialectNames(), ", "))}
	}
	return all[i], nil
}

// checkDialects refuses comma-separated names that contain an unknown dialect.
func checkDialects(names string) error {
	_, err := placesOf(names)
	return err
}

// placesOf returns the dialects of comma-separated names, at their default addresses.
func placesOf(names string) (places []dialectPlace, err error) {
	for name := range strings.SplitSeq(names, ",") {
		kind, err := dialectNamed(name)
		if err != nil {
			return nil, err
		}
		if placeOf(places, name) >= 0 {
			return nil, cli.UsageError{Message: "dialect " + name + " is named twice"}
		}
		places = append(places, dialectPlace{kind, dialect.ListenOptions{Dialect: name, Address: kind.address}})
	}
	return places, nil
}

func placeOf(places []dialectPlace, name string) int {
	return slices.IndexFunc(places, func(p dialectPlace) bool { return p.name == name })
}

// places returns the named dialects with the addresses that the options set.
func (o *dialectOptions) places(names string) ([]dialectPlace, error) {
	places, err := placesOf(names)
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for _, words := range o.listen {
		name, address, named := strings.Cut(words, "=")
		if !named {
			name, address = places[0].name, words
		}
		i := placeOf(places, name)
		switch {
		case !named && len(places) > 1:
			return nil, cli.UsageError{Message: "--listen must be name=address for one of several dialects"}
		case i < 0:
			return nil, cli.UsageError{Message: "--listen " + words + ": dialect " + name + " is not served"}
		case given[name]:
			return nil, cli.UsageError{Message: "--listen may be given once for each dialect"}
		}
		given[name], places[i].at.Address = true, address
	}
	for i := range places {
		places[i].at.Origins = o.origins
	}
	return places, nil
}

// fit returns the named dialects, after checking that the options fit them. If the ACECode daemon
// is the only dialect, errors have its exit status.
func (o *dialectOptions) fit(cmd *cobra.Command, names string) ([]dialectPlace, error) {
	places, err := o.places(names)
	if err == nil {
		err = o.check(cmd, places)
	}
	if err != nil && names == acecode.Name {
		err = daemon.Failed(daemon.ExitOptions, err)
	}
	return places, err
}

// check refuses invalid options, and options that none of the dialects has.
func (o *dialectOptions) check(cmd *cobra.Command, places []dialectPlace) error {
	err := cmp.Or(cli.Require(cmd, "project", "as"), cli.OneOf("role", o.role, doc.Roles()), checkID("project", o.project), foreignOption(cmd, places))
	switch {
	case err != nil:
		return err
	case o.level != "" && !slices.Contains([]string{"read-only", "patch", "run-commands"}, o.level):
		return cli.UsageError{Message: "--level must be read-only, patch or run-commands"}
	case o.isolation != doc.IsolationNone && o.isolation != doc.IsolationWorktree:
		return cli.UsageError{Message: "--isolation must be none or worktree"}
	case o.onExit != onExitKeep && o.onExit != onExitStop:
		return cli.UsageError{Message: "--on-exit must be keep or stop"}
	case !slices.Contains([]string{"auto", "wire", "document"}, o.shape):
		return cli.UsageError{Message: "--shape must be auto, wire or document"}
	case o.answerWithin < time.Second || o.answerWithin > 29*time.Second:
		return cli.UsageError{Message: "--answer-within must be from 1s to 29s"}
	}
	return nil
}

// foreignOption refuses an option of a dialect that is not among places.
func foreignOption(cmd *cobra.Command, places []dialectPlace) error {
	for _, kind := range dialects() {
		for _, name := range kind.options {
			has := slices.ContainsFunc(places, func(p dialectPlace) bool { return slices.Contains(p.options, name) })
			if cmd.Flags().Changed(name) && !has {
				return cli.UsageError{Message: "--" + name + " is not for " + places[0].name}
			}
		}
	}
	return nil
}

// serveDialects serves until a signal arrives.
func serveDialects(ctx context.Context, a *cli.App, o dialectOptions, places []dialectPlace, dir string) error {
	cli.SurviveReaders()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	stderr := rpc.NewLossy(a.Stderr)
	defer stderr.Close()
	env := workspace.SystemEnv()
	hub := feed.NewHub(nil, env.Clock, env.IDs.New)
	host := company.New(company.Options{
		Env: env, Executable: a.Executable, Hub: hub, Stderr: stderr, Version: a.Version,
		Terminals: placeOf(places, acecode.Name) >= 0 && !o.noTerminals,
	})
	c := &dialect.Company{
		Host: host, Dir: dir, ProjectID: o.project, RepoID: o.repo, AgentID: o.agent, Version: a.Version, Clock: env.Clock,
		Actor: company.ActorParams{ActorID: o.as, ActorRole: o.role, ActorTeamID: o.team}, Log: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	if o.heartbeat {
		host.Observe(dir)
	}
	// Terminals end concurrently with requests. The server exits within two seconds, and
	// CloseTerminals alone may take one.
	ended := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(ended)
		host.CloseTerminals()
	})
	err := listenAndServe(ctx, a, c, o, places)
	if !stopped() {
		<-ended
	}
	hub.Close()
	err = errors.Join(err, host.Close())
	if fault.Is(err, fault.Denied) {
		err = daemon.Failed(daemon.ExitRefused, err)
	}
	return err
}

func listenAndServe(ctx context.Context, a *cli.App, c *dialect.Company, o dialectOptions, places []dialectPlace) error {
	listeners, err := listenAll(ctx, c, o, places)
	if err == nil && o.dataDir != "" && placeOf(places, acecode.Name) < 0 {
		listeners[0], err = withRuntime(c.Host.ServerID(), listeners[0], o.dataDir, listeners)
	}
	if err != nil {
		return err
	}
	// The parent process may not read this output.
	_, _ = fmt.Fprintf(a.RawStdout(), "%sStop it with Ctrl+C.\n", addressLines(listeners))
	return serveAll(ctx, listeners)
}

// addressLines returns the output lines with the addresses of listeners.
func addressLines(listeners []dialect.Listener) string {
	var said strings.Builder
	for _, l := range listeners {
		fmt.Fprintf(&said, "AgentCompany %s: %s\n", l.Name, l.Addr)
	}
	return said.String()
}

// listenAll listens for all dialects. If one fails, it closes the others.
func listenAll(ctx context.Context, c *dialect.Company, o dialectOptions, places []dialectPlace) ([]dialect.Listener, error) {
	if err := c.Check(ctx); err != nil {
		return nil, err
	}
	list := make([]dialect.Listener, 0, len(places))
	for _, p := range places {
		l, err := p.listen(ctx, c, p.at, o)
		if err != nil {
			unserved, cancel := context.WithCancel(ctx)
			cancel()
			return nil, errors.Join(err, serveAll(unserved, list))
		}
		list = append(list, l)
	}
	return list, nil
}

// serveAll serves listeners until ctx is done or one of them ends.
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

// dialectPlaces parses the dialects of a control room: names, or names with an address.
func dialectPlaces(given []string) (places []dialectPlace, err error) {
	for _, words := range given {
		name, address, _ := strings.Cut(words, "=")
		kind, err := dialectNamed(name)
		if err != nil {
			return nil, err
		}
		if placeOf(places, name) >= 0 {
			return nil, cli.UsageError{Message: "--dialect " + name + " is given twice"}
		}
		places = append(places, dialectPlace{kind, dialect.ListenOptions{
			Dialect: name, Address: cmp.Or(address, kind.address), Option: "--dialect " + name + "=ADDR",
		}})
	}
	return places, nil
}

// dialectsBeside returns a function that opens the listeners of a control room's dialects. They use
// its company and its actor, and the defaults of all other options.
func dialectsBeside(o web.Options, places []dialectPlace) func(context.Context, *company.Host) ([]dialect.Listener, error) {
	return func(ctx context.Context, host *company.Host) ([]dialect.Listener, error) {
		c := &dialect.Company{
			Host: host, Dir: o.WorkspaceDir, ProjectID: o.ProjectID, Version: o.Version, Clock: o.Env.Clock,
			Actor: o.Actor, Log: slog.New(slog.NewTextHandler(o.Stderr, nil)),
		}
		return listenAll(ctx, c, dialectOptions{}, places)
	}
}
