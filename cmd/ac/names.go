package main

// Names and endings of ids for commands with a colon: what is found is replaced by its id
// before the operation is called. What nothing has is passed on as it is.

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
)

// isFullID reports whether a word has the form of the ids that ac makes. They are never
// looked up.
func isFullID(word string) bool {
	_, end, ok := strings.Cut(word, "_")
	return ok && len(end) == 26 && strings.Trim(end, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// kindOf is the kind of thing that an option names, "" for options that name none.
func kindOf(option string) string {
	switch option {
	case "project":
		return "project"
	case "agent", "assignee", "worker", "manager", "target-agent":
		return "agent"
	case "team", "target-team":
		return "team"
	case "run", "target-run":
		return "run"
	}
	return ""
}

// takeNames makes commands whose first argument is a workspace take names and the ends of
// ids, for their options and for the argument <run>.
func (a *app) takeNames(commands []*cobra.Command) {
	for _, cmd := range commands {
		words := strings.Fields(cmd.Use)
		if !strings.Contains(cmd.Name(), ":") || len(words) < 2 || words[1] != "<dir>" || cmd.RunE == nil {
			continue
		}
		named := len(words) > 2 && words[2] == "<run>"
		inner := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, given []string) error {
			given, err := a.withIDs(cmd, given, named)
			if err != nil {
				return err
			}
			return inner(cmd, given)
		}
	}
}

// withIDs replaces names in the options of a command, and in the argument behind the
// workspace where that names a run.
func (a *app) withIDs(cmd *cobra.Command, given []string, namesRun bool) ([]string, error) {
	var named []*pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if kindOf(f.Name) != "" && f.Value.Type() == "string" && isName(f.Value.String()) {
			named = append(named, f)
		}
	})
	namesRun = namesRun && len(given) > 1 && isName(given[1])
	if len(given) == 0 || len(named) == 0 && !namesRun {
		return given, nil
	}
	err := a.across(func(all *company.Host) error {
		n := names{ctx: cmd.Context(), all: all, dir: company.Dir{WorkspaceDir: given[0]}}
		for _, f := range named {
			id, err := n.id(kindOf(f.Name), f.Value.String())
			if err == nil {
				err = f.Value.Set(id)
			}
			if err != nil {
				return err
			}
		}
		if !namesRun {
			return nil
		}
		id, err := n.id("run", given[1])
		given = slices.Concat(given[:1], []string{id}, given[2:])
		return err
	})
	return given, err
}

// isName reports whether a word may be a name or the end of an id.
func isName(word string) bool {
	return strings.TrimSpace(word) != "" && word != newestRun && !isFullID(word)
}

// names looks names up in a workspace.
type names struct {
	ctx context.Context //nolint:containedctx // of one command
	all *company.Host
	dir company.Dir
}

// id is the id of what a word names. A word that names nothing, or a folder that cannot be
// read, is for the operation to refuse; a word that names several things is an error.
func (n names) id(kind, word string) (string, error) {
	known, err := n.known(kind)
	if err != nil {
		return word, nil //nolint:nilerr // the operation says it in its own words
	}
	found, err := lookup(kind, word, n.dir.WorkspaceDir, known)
	if choice, ok := errors.AsType[choiceError](err); ok && len(choice.lines) > 0 {
		return word, err
	}
	if err != nil {
		return word, nil //nolint:nilerr // nothing has this name
	}
	return found.id, nil
}

// known lists what words of a kind may name. Nothing is written.
func (n names) known(kind string) (list []candidate, err error) {
	switch kind {
	case "project":
		rows, err := company.Do(n.ctx, n.all, (*company.Company).ProjectNames, n.dir)
		for _, r := range rows {
			list = append(list, candidate{id: r.ID, name: r.Name})
		}
		return list, err
	case "agent":
		rows, err := company.Do(n.ctx, n.all, (*company.Folder).Agents, company.AgentsParams{Dir: n.dir})
		for _, r := range rows {
			list = append(list, candidate{id: r.AgentID, name: r.Name, line: strings.TrimSpace(r.Role + " " + r.TeamID)})
		}
		return list, err
	case "team":
		rows, err := company.Do(n.ctx, n.all, (*company.Folder).Teams, n.dir)
		for _, r := range rows {
			list = append(list, candidate{id: r.TeamID, name: r.Name})
		}
		return list, err
	}
	rows, err := company.Do(n.ctx, n.all, (*company.Folder).ListRuns, company.ListRunsParams{Dir: n.dir})
	for _, r := range rows {
		list = append(list, candidate{id: r.RunID, line: r.Status + "  " + r.CreatedAt})
	}
	return list, err
}
