package servers

// dialect:start, dialect:stop, dialect:status and dialect:unit: dialects in the background.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/dialect"
	"ac/dialect/acecode"
	"ac/dialect/daemon"
	"ac/workspace"
)

// dialectAct returns a command on dialects in the background.
func dialectAct(use, short, long, example string, act func(cmd *cobra.Command, o *dialectOptions, given []string) error) *cobra.Command {
	o := &dialectOptions{}
	cmd := &cobra.Command{
		Use: use + " <names> <dir>", Short: short, Args: cli.Args("names", "dir"), Long: long, Example: example,
		RunE: func(cmd *cobra.Command, given []string) error {
			if _, err := o.fit(cmd, given[0]); err != nil {
				return err
			}
			return act(cmd, o, given)
		},
	}
	o.flags(cmd)
	return cmd
}

// backgroundDir returns the data directory of dialects in the background.
func (o *dialectOptions) backgroundDir(given []string) (string, error) {
	if o.dataDir != "" {
		return filepath.Abs(o.dataDir)
	}
	names := strings.Split(given[0], ",")
	name := names[0]
	for _, n := range names {
		if n == acecode.Name {
			name = n
		}
	}
	return filepath.Abs(filepath.Join(given[1], filepath.FromSlash(workspace.DialectsDir), name, o.project))
}

func dialectStartCommand(a *cli.App) *cobra.Command {
	return dialectAct("dialect:start", "Serve the protocol of another program in the background",
		`Start dialect:serve with the same options in the background, and wait until it answers. Its
errors go to run/daemon.log of the data directory, by default .local/dialects/<name>/<project>
of the workspace. The address is printed.

Exit status: as of dialect:serve; 6 when it runs already, 7 when it could not be started, 8
when it did not come up within 5 seconds.`,
		"  ac dialect:start acecode ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		func(cmd *cobra.Command, o *dialectOptions, given []string) error {
			dir, err := o.backgroundDir(given)
			if err != nil {
				return err
			}
			if err := a.Across(func(host *company.Host) error {
				return (&dialect.Company{Host: host, Dir: given[1], ProjectID: o.project}).Exists(cmd.Context())
			}); err != nil {
				return err
			}
			work, err := os.Getwd()
			if err != nil {
				return err
			}
			argv, err := serveWords(cmd, a.Executable, given, dir)
			if err != nil {
				return err
			}
			line, err := daemon.Start{DataDir: dir, Argv: argv, Dir: work, Answers: answersAs(dir)}.Run(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, line)
			return err
		})
}

// serveWords returns the command line that serves dialects with the options of cmd.
func serveWords(cmd *cobra.Command, executable string, given []string, dataDir string) ([]string, error) {
	dir, err := filepath.Abs(given[1])
	words := []string{executable, "dialect:serve", given[0], dir, "--data-dir=" + dataDir}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, many := f.Value.(pflag.SliceValue); {
		case cmd.InheritedFlags().Lookup(f.Name) != nil || dialectOnly(f.Name):
		case many:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name+"="+value)
			}
		case f.Value.Type() == "bool": // it is true; there is no way to pass false
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words, err
}

// dialectOnly reports whether an option must not be passed on to dialect:serve.
func dialectOnly(name string) bool {
	return name == "data-dir" || name == "user" || name == "kind" || name == "json"
}

// answersAs returns a check whether the server that answers over HTTP is the one of the runtime
// files.
func answersAs(dataDir string) func(ctx context.Context, r daemon.Running) error {
	return func(ctx context.Context, r daemon.Running) error {
		if !strings.HasPrefix(r.Address, "http://") {
			return nil // it listens, and there is no way to query it
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(r.Address, "/")+"/api/health", nil)
		if err != nil {
			return err
		}
		if token, err := os.ReadFile(filepath.Join(dataDir, "run", "token")); err == nil {
			ask.Header.Set("X-ACECode-Token", strings.TrimSpace(string(token)))
		}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }() // the body was read
		var health struct {
			GUID string `json:"guid"`
		}
		if answer.StatusCode == http.StatusNotFound {
			return nil // this dialect has no such endpoint
		}
		if err := json.NewDecoder(answer.Body).Decode(&health); err != nil || health.GUID != r.GUID {
			return errors.Join(errors.New("another server answers at "+r.Address), err)
		}
		return nil
	}
}

func dialectStopCommand(*cli.App) *cobra.Command {
	return dialectAct("dialect:stop", "Stop dialects that are served in the background",
		`Stop what dialect:start started. Runs and jobs go on.

Exit status: 1 when nothing runs, 9 when it has not ended after 10 seconds.`,
		"  ac dialect:stop acecode ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		func(cmd *cobra.Command, o *dialectOptions, given []string) error {
			dir, err := o.backgroundDir(given)
			if err != nil {
				return err
			}
			return daemon.Stop(cmd.Context(), dir)
		})
}

func dialectStatusCommand(a *cli.App) *cobra.Command {
	return dialectAct("dialect:status", "Show whether dialects are served in the background",
		`Print "running", with the process, the address and since when; or "not running", with exit
status 1.`,
		"  ac dialect:status acecode ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S",
		func(_ *cobra.Command, o *dialectOptions, given []string) error {
			dir, err := o.backgroundDir(given)
			if err != nil {
				return err
			}
			r, ok, err := daemon.Find(dir)
			if err != nil {
				return err
			}
			if !ok {
				if _, err := fmt.Fprintln(a.Stdout, "not running"); err != nil {
					return err
				}
				return cli.ExitError{Code: cli.ExitFailure}
			}
			_, err = fmt.Fprintf(a.Stdout, "running pid %d %s up %ds\n", r.Process.PID, r.Address, int(time.Since(r.Since).Seconds()))
			return err
		})
}

func dialectUnitCommand(a *cli.App) *cobra.Command {
	var kind string
	var own bool
	cmd := dialectAct("dialect:unit", "Print a unit that serves dialects",
		`Print a unit for systemd or launchd that runs dialect:serve with the same options. Nothing is
installed. Runs go on when the unit is stopped.`,
		"  ac dialect:unit acecode ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --kind launchd",
		func(cmd *cobra.Command, o *dialectOptions, given []string) error {
			if kind != "systemd" && kind != "launchd" {
				return cli.UsageError{Message: "--kind must be systemd or launchd"}
			}
			u, err := dialectUnit(cmd, a.Executable, o, given, own)
			if err != nil {
				return err
			}
			text := u.systemd()
			if kind == "launchd" {
				text = u.launchd()
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		})
	cmd.Flags().StringVar(&kind, "kind", "systemd", "systemd or launchd")
	cmd.Flags().BoolVar(&own, "user", false, "for the systemd of the user, not of the machine")
	return cmd
}

// dialectUnit returns the unit that serves dialects with the options of cmd.
func dialectUnit(cmd *cobra.Command, executable string, o *dialectOptions, given []string, own bool) (*unit, error) {
	dir, err := o.backgroundDir(given)
	if err != nil {
		return nil, err
	}
	words, err := serveWords(cmd, executable, given, dir)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	u := &unit{
		name: "ac-dialect-" + strings.ToLower(cli.ShortID(o.project)), about: given[0] + " for " + o.project, argv: words, path: os.Getenv("PATH"), home: home,
	}
	if !own {
		who, err := user.Current()
		if err != nil {
			return nil, err
		}
		u.account = who.Username
	}
	return u, u.check()
}
