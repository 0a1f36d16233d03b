package servers

// ac web: serving the control room of the project to a browser.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/rpc"
	"ac/web"
	"ac/workspace"
)

// served is the address of a control room, and the JSON output of ac web.
type served struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// Defaults of ac web. ownerLimit is how long the owner of a port may take to identify itself.
const (
	webPort    = 8787
	screenRows = 200
	ownerLimit = 2 * time.Second
)

func roomCommand(a *cli.App) *cobra.Command {
	open, port := false, uint16(webPort)
	cmd := &cobra.Command{
		Use: "web", Short: "Serve the control room of the project to a browser", Args: cli.Args(),
		Long: `Serve the control room of the project to a browser on this machine, until SIGINT or
SIGTERM. Runs can be started from it. The first line of output is the address. If the port is taken by the control room
of this workspace, print its address and end.`,
		Example: "  ac web\n  ac web --open --port 0",
	}
	a.Short(cmd, func(c *cli.Call, _ []string) error {
		if err := c.RequireProject(); err != nil {
			return err
		}
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return err
		}
		cli.SurviveReaders()
		ctx, stop := signal.NotifyContext(c.Ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		stderr := rpc.NewLossy(c.Stderr)
		defer stderr.Close()
		server, err := web.Listen(ctx, web.Options{
			Env: workspace.SystemEnv(), Executable: c.Executable, Version: c.Version, Stderr: stderr,
			WorkspaceDir: dir, ProjectID: c.Project, Actor: company.ActorParams{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team},
			Limits:    company.ScreenLimits{MonitorLimit: screenRows, ItemLimits: company.ItemLimits{PendingLimit: screenRows, DecisionsLimit: screenRows}},
			SyncIndex: true, Host: "127.0.0.1", Port: int(port), AllowLaunch: true,
		})
		if errors.Is(err, syscall.EADDRINUSE) {
			if there, ok := ownerOf(ctx, int(port), c.Dir); ok {
				return announce(c, there, open)
			}
		}
		if err != nil {
			return err
		}
		if err := cli.RememberWorkspace(ctx, c.Dir, c.ReadContext().Project(c.Dir)); err != nil {
			c.Note("note: %s", err)
		}
		return errors.Join(announce(c, served{server.URL(), os.Getpid()}, open), server.Serve(ctx))
	})
	cmd.Flags().BoolVar(&open, "open", false, "open it in the browser")
	cmd.Flags().Uint16Var(&port, "port", webPort, "port to listen on, 0 for any free one")
	return cmd
}

// announce prints the address of the control room, and opens it in a browser if open is set.
func announce(c *cli.Call, at served, open bool) error {
	line := at.URL + "\n"
	if c.AsJSON {
		text, err := json.Marshal(at)
		if err != nil {
			return err
		}
		line = string(text) + "\n"
	}
	_, _ = fmt.Fprint(c.RawStdout(), line) // best effort: the parent process may not read it
	if open {
		if err := openBrowser(c.Ctx, at.URL); err != nil {
			c.Note("note: the browser was not opened: %s", err)
		}
	}
	return nil
}

// openBrowser opens an address with the system's program for that.
func openBrowser(ctx context.Context, url string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.CommandContext(ctx, program, url)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release() // do not wait: some programs end only with the browser
}

// ownerOf asks the owner of a port whether it is the control room of this workspace.
func ownerOf(ctx context.Context, port int, dir string) (there served, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, ownerLimit)
	defer cancel()
	there.URL = "http://127.0.0.1:" + strconv.Itoa(port)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, there.URL+"/api/health", http.NoBody)
	if err != nil {
		return there, false
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return there, false
	}
	defer func() { _ = answer.Body.Close() }() // the body was read
	var health struct {
		WorkspaceDir string `json:"workspace_dir"`
		PID          int    `json:"pid"`
	}
	if json.NewDecoder(answer.Body).Decode(&health) != nil {
		return there, false
	}
	there.PID = health.PID
	return there, workspace.Canonical(health.WorkspaceDir) == workspace.Canonical(dir)
}
