// Package canarytest plants secrets in a company and searches for them in everything that the
// company leaves behind. It has only tests.
package canarytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"ac/company"
	"ac/company/workforce"
	"ac/heartbeat/job"
	"ac/rpc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// Roles that the test binary plays.
const (
	serveCommand = "serve"
	spillCommand = "spill"
	shareCommand = "share"
	fillCommand  = "fill"
	worker       = "codex" // by the name of the binary
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == worker {
		os.Exit(work(os.Args[1:]))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand, job.RunCommand, serveCommand, shareCommand, fillCommand:
			os.Exit(exitOf(play(os.Args[1:])))
		case spillCommand:
			os.Exit(exitOf(spill(os.Args[2:])))
		}
	}
	os.Exit(m.Run())
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func play(args []string) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	switch args[0] {
	case session.SuperviseCommand:
		return supervisor.Main(executable, os.Stdin, os.Stdout, nil)
	case job.RunCommand:
		return job.RunMain(executable, os.Stdin, os.Stdout, nil, nil)
	case serveCommand:
		return rpc.Serve(context.Background(), rpc.Options{
			In: os.Stdin, Out: os.Stdout, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Env: workspace.SystemEnv(), Executable: executable,
		})
	}
	return command(executable, args)
}

// command runs a command of the program with params from stdin. It is called in its own process and
// environment.
func command(executable string, args []string) (err error) {
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: executable})
	defer func() { err = errors.Join(err, all.Close()) }()
	in, params := company.Dir{WorkspaceDir: args[1]}, json.NewDecoder(os.Stdin)
	var result any
	switch args[0] {
	case shareCommand:
		var p workforce.CreateSharePackParams
		if err = params.Decode(&p); err == nil {
			p.Dir = in
			result, err = company.Do(context.Background(), all, workforce.Operations.CreateSharePack, p)
		}
	case fillCommand:
		var p workforce.FillArtifactParams
		if err = params.Decode(&p.Spec); err == nil {
			p.ProjectID, p.ArtifactID, p.AgentID = p.Spec.ProjectID, p.Spec.ArtifactID, p.Spec.AgentID
			p.Dir = in
			result, err = company.Do(context.Background(), all, workforce.Operations.FillArtifact, p)
		}
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
