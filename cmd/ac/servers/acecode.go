package servers

// The dialect of the ACECode daemon: its options and its runtime files.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/spf13/pflag"

	"ac/dialect"
	"ac/dialect/acecode"
	"ac/dialect/daemon"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// aceCodeOptions holds the options that only the ACECode daemon has.
type aceCodeOptions struct {
	hosts                      []string
	noTerminals, open, allRuns bool
	dangerous                  bool
	shape                      string
}

func (o *aceCodeOptions) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.hosts, "allow-host", nil, "further name that clients may call this machine by")
	flags.BoolVar(&o.noTerminals, "no-terminals", false, "serve no consoles")
	flags.BoolVar(&o.open, "allow-open", false, "let clients open directories in the file manager")
	flags.BoolVar(&o.allRuns, "all-runs", false, "also list runs that are not conversations")
	flags.StringVar(&o.shape, "shape", "auto", "names of events: auto, wire for those of pages, document for the published ones")
	flags.BoolVar(&o.dangerous, "dangerous", false, "new sessions ask for nothing by default; on loopback only")
}

// aceCodeDataDir returns the data directory of the ACECode daemon.
func aceCodeDataDir(o *dialectOptions, dir, project string) string {
	if o.dataDir != "" {
		return o.dataDir
	}
	return filepath.Join(dir, filepath.FromSlash(workspace.DialectsDir), acecode.Name, project)
}

// listenForACECode listens for clients of the ACECode daemon. Its runtime files exist when it
// returns, and are removed when the listener ends.
func listenForACECode(ctx context.Context, c *dialect.Company, at dialect.ListenOptions, o dialectOptions) (dialect.Listener, error) {
	var none dialect.Listener
	at.Token, at.Names = daemon.NewToken(), o.hosts
	if o.tokenFile != "" {
		token, err := daemon.ReadToken(o.tokenFile)
		if err != nil {
			return none, err
		}
		at.Token = token
	}
	files, err := daemon.Claim(aceCodeDataDir(&o, c.Dir, c.ProjectID), c.Host.ServerID(), at.Token)
	if err != nil {
		return none, err
	}
	l, err := acecode.Listen(ctx, c, acecode.Options{
		Place: at, Level: doc.Level(o.level), Isolation: o.isolation, Dangerous: o.dangerous, AllowOpen: o.open, AllRuns: o.allRuns,
		Terminals: !o.noTerminals, Shape: o.shape,
	})
	if err != nil {
		return none, errors.Join(aceCodeFailure(err), files.Remove())
	}
	return keepRuntime(files, l)
}

// aceCodeFailure adds the exit status to an error of listening.
func aceCodeFailure(err error) error {
	switch {
	case fault.Is(err, fault.Denied):
		return daemon.Failed(daemon.ExitRefused, err)
	case fault.Is(err, fault.NoTarget), fault.Is(err, fault.InvalidFile), fault.Is(err, fault.InvalidParams):
		return daemon.Failed(daemon.ExitOptions, err)
	}
	return daemon.Failed(daemon.ExitListen, err)
}

// withRuntime adds runtime files to a listener of any dialect. If that fails, it closes all
// listeners.
func withRuntime(guid string, l dialect.Listener, dataDir string, all []dialect.Listener) (dialect.Listener, error) {
	files, err := daemon.Claim(dataDir, guid, "")
	if err == nil {
		l, err = keepRuntime(files, l)
	}
	if err != nil {
		unserved, cancel := context.WithCancel(context.Background())
		cancel()
		err = errors.Join(err, serveAll(unserved, all))
	}
	return l, err
}

// keepRuntime writes the runtime files of a listener, and removes them when the listener ends.
func keepRuntime(files *daemon.Runtime, l dialect.Listener) (dialect.Listener, error) {
	address, err := url.Parse(l.Addr)
	port := 0
	if err == nil {
		port, err = strconv.Atoi(address.Port())
	}
	if err == nil {
		address.RawQuery = "" // the token has its own file
		err = files.Write(address.String(), port)
	}
	serve := l.Serve
	l.Serve = func(ctx context.Context) error {
		beating, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { files.Beat(beating) })
		failed := serve(ctx)
		stop()
		wg.Wait()
		if failed != nil {
			failed = daemon.Failed(daemon.ExitListen, fmt.Errorf("serving failed: %w", failed))
		}
		return errors.Join(failed, files.Remove())
	}
	if err != nil {
		unserved, cancel := context.WithCancel(context.Background())
		cancel()
		err = errors.Join(err, l.Serve(unserved))
	}
	return l, err
}
