package doctor

// Checks of the configuration: documents, machine settings, agent CLIs, repositories.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ac/internal/durable"
	"ac/internal/yamldoc"
	"ac/runs/provider"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
)

func (p Target) validate() validate.Findings {
	if p.Validator != nil {
		return p.Validator.Validate()
	}
	return validate.Folder(p.Env, p.Dir)
}

func (p Target) schema(context.Context) Check {
	const id = "workspace.schema"
	issues := p.findings().Issues
	if len(issues) == 0 {
		return pass(id, "every document fits its schema")
	}
	c := Check{ID: id, Status: Fail, Message: plural(len(issues), "issue") + " in the documents"}
	for _, issue := range issues[:min(maxDetails, len(issues))] {
		c.Details = append(c.Details, issue.Code+": "+issue.Message)
	}
	switch {
	case p.Workspace == nil:
		c.Message = "this is not a workspace: it has no " + workspace.CompanyFile
		c.Hint = "Check the path, or create a workspace here: ac workspace:init " + p.RequestedDir
	case len(p.Workspace.MissingDirs()) > 0:
		c.Hint = "Create the missing directories with: ac workspace:doctor " + p.RequestedDir + " --fix. Repair the documents by hand; each line names the file and the field."
	default:
		c.Hint = "Repair the documents by hand; each line names the file and the field. List all of them with: ac workspace:validate " + p.RequestedDir
	}
	return c
}

// machine reads this machine's settings, even if there is no workspace around them.
func (p Target) machine() (machine doc.Machine, text []byte, err error) {
	var fsys durable.FS
	if p.Workspace != nil {
		fsys = p.Workspace.FS
	} else {
		root, err := durable.OpenRoot(p.Dir)
		if err != nil {
			return machine, nil, err
		}
		defer root.Close()
		fsys = root
	}
	if text, err = durable.ReadFile(fsys, workspace.MachineFile, yamldoc.MaxBytes); err != nil {
		return machine, nil, err
	}
	machine, err = doc.MachineCodec.Decode(text)
	return machine, text, err
}

func (p Target) machineConfig(context.Context) Check {
	const id = "machine.config"
	_, _, err := p.machine()
	if err == nil {
		return pass(id, "%s can be read", workspace.MachineFile)
	}
	c := Check{ID: id, Status: Fail, Message: workspace.MachineFile + " cannot be read", Details: strings.Split(err.Error(), "; ")}
	c.Hint = "Repair the file by hand, or create a new one (the old one is kept next to it): ac workspace:init " + p.RequestedDir + " --force --name NAME"
	if p.Workspace == nil {
		c.Hint = "There is no workspace here."
	}
	return c
}

func (p Target) providers(ctx context.Context) []Check {
	machine, _, err := p.machine()
	if err != nil {
		machine = doc.Machine{} // fall back to the providers' default names
	}
	cli := Check{ID: "providers.cli", Status: Fail, Message: "no agent CLI is available"}
	protocol := pass("providers.protocol", doc.KindAppServer+" is available")
	var available []string
	for _, adapter := range provider.StatusWithin(ctx, machine, p.programs(), probePatience) {
		line := adapter.Name + ": " + adapter.Describe()
		if adapter.Probe != nil && !adapter.Probe.OK && cli.Hint == "" {
			cli.Hint = adapter.Name + " does not accept the command lines of ac: update it, or log it in."
		}
		switch {
		case adapter.Mode == "cli":
			cli.Details = append(cli.Details, line)
			if adapter.Available {
				available = append(available, adapter.Name)
			}
		case !adapter.Available:
			protocol = Check{
				ID: protocol.ID, Status: Warn, Message: doc.KindAppServer + " is unavailable", Details: []string{line},
				Hint: "Only agents of the provider codex_app_server need it: install a codex CLI that has the command app-server.",
			}
		default:
			protocol.Details = []string{line}
		}
	}
	if len(available) > 0 {
		cli.Status, cli.Message = Pass, "available: "+strings.Join(available, ", ")
	} else {
		cli.Hint = "Install codex, claude or gemini in PATH, or set its path under provider_bins in " + workspace.MachineFile + "."
	}
	return []Check{cli, protocol}
}

// probePatience bounds the wait for probes of agent CLIs.
const probePatience = 20 * time.Second

// programs returns the cache of program probes, frozen so that nothing is written to it.
func (p Target) programs() provider.Cache {
	return provider.Cache{Workspace: p.Workspace, Environ: os.Environ(), Frozen: true}
}

// repositories returns no check if the machine settings cannot be read.
func (p Target) repositories(context.Context) []Check {
	const id = "repos.mappings"
	machine, text, err := p.machine()
	if err != nil {
		return nil
	}
	if len(machine.RepoRoots) == 0 {
		return []Check{{
			ID: id, Status: Warn, Message: "no repository is mapped to a directory of this machine",
			Hint: "Agents that work in a repository need its path. Set it under repo_roots in " + workspace.MachineFile + ", or with the method workspace.repo_root.set.",
		}}
	}
	value, err := yamldoc.Parse(text)
	if err != nil {
		return nil // unreachable: machine just parsed it
	}
	c := pass(id, "%s, each a git repository", plural(len(machine.RepoRoots), "repository mapping"))
	bad, bare := 0, 0
	for _, repo := range value.Get("repo_roots").Keys {
		root := machine.RepoRoots[repo]
		state := "ok"
		switch {
		case !filepath.IsAbs(root):
			state = "not an absolute path"
			bad++
		case !isThere(root):
			state = "does not exist"
			bad++
		case !isThere(filepath.Join(root, ".git")):
			state = "has no .git"
			bare++
		}
		c.Details = append(c.Details, fmt.Sprintf("%s: %s: %s", repo, root, state))
	}
	switch {
	case bad > 0:
		c.Status, c.Message = Fail, fmt.Sprintf("%d of %s cannot be used", bad, plural(len(machine.RepoRoots), "repository mapping"))
		c.Hint = "Map them to the absolute path of a clone: with workspace.repo_root.set, or under repo_roots in " + workspace.MachineFile + "."
	case bare > 0:
		c.Status, c.Message = Warn, fmt.Sprintf("%d of %s without a .git", bare, plural(len(machine.RepoRoots), "repository mapping"))
		c.Hint = "Runs that need a worktree cannot start there: map a git clone, or run git init."
	}
	return []Check{c}
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) && err == nil
}
