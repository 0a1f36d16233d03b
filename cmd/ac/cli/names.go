package cli

// Names and id suffixes for commands with a colon. They are replaced by full ids before the
// operation is called. Full ids are passed on unchanged.

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/internal/shape"
)

// isFullID reports whether a word has the form of an id that ac generates.
func isFullID(word string) bool {
	_, end, ok := strings.Cut(word, "_")
	return ok && len(end) == 26 && strings.Trim(end, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// KindOf returns the kind of thing that an option of a command names, "" if it names none.
func KindOf(command, option string) string {
	switch command + " --" + option {
	case "job:submit --worker", "job:submit --job", "workflow:run --run", "memory:delta --target":
		return "" // a provider, ids of new things, a file
	case "artifact:revert --checkpoint":
		return kindCheckpoint
	case "help:new --target", "index:help --target":
		return KindAgent
	}
	switch option {
	case "project", "project-id":
		return KindProject
	case "agent", "assignee", "worker", "managers", "target-agent", "with", "mention", "scope-ref", "director", "ceo",
		"worker-agent-ids", "director-agent-id", "executive-manager-agent-id":
		return KindAgent
	case "actor", "by", "author", "requester", "manager", "ceo-actor-id":
		return kindActor
	case "team", "target-team", "actor-team", "manager-team":
		return KindTeam
	case "run", "target-run":
		return kindRun
	case "task", "tasks", "depends":
		return KindTask
	case "milestone":
		return kindMilestone
	case "artifact", "target-artifact", "report", "approved-executive-plan-artifact-id":
		return kindArtifact
	case "job":
		return kindJob
	case "interaction":
		return kindInteraction
	case "share":
		return kindSharePack
	case "need", "needs":
		return kindNeed
	case "request":
		return kindHelpRequest
	}
	return ""
}

// ArgumentKind returns the kind of thing that the argument after the workspace names.
func ArgumentKind(cmd *cobra.Command) string {
	words := strings.Fields(cmd.Use)
	if len(words) < 3 {
		return ""
	}
	switch strings.Trim(words[2], "<[]>") {
	case "run":
		return kindRun
	case "conversation":
		return KindConversation
	case "session_ref":
		return kindSession
	}
	return ""
}

// answersAnyWord reports whether a command receives unknown words unchanged. It either returns a
// result for them or reports its own error. The other commands write, or would return an empty
// list.
func answersAnyWord(command string) bool {
	switch noun, _, _ := strings.Cut(command, ":"); noun {
	case "comment", "index", "memory", "workflow", "sharepack":
		return command != "memory:delta" && command != "memory:approve" && command != "sharepack:create"
	}
	return slices.Contains([]string{
		"run:list", "run:new", "run:replay", "run:transcript", "run:watch", "run:changes", "monitor:runs", "inbox:snapshot", "inbox:show",
		"ui:snapshot", "ui:resolve", "job:list", "job:poll", "job:collect", "artifact:read", "artifact:files", "artifact:preview",
		"interaction:list", "context:plan", "usage:reconcile:snapshot",
	}, command)
}

// isUnchecked reports whether a command receives unknown words of a kind unchanged. An actor may be
// a person. For kinds without names, the operations return better errors.
func isUnchecked(command, kind string) bool { return answersAnyWord(command) || !hasNames(kind) }

// TakesNames reports whether a command has a workspace in which to look up names.
func TakesNames(cmd *cobra.Command) bool {
	words := strings.Fields(cmd.Use)
	return strings.Contains(cmd.Name(), ":") && len(words) > 1 && words[1] == "<dir>" && cmd.RunE != nil
}

// takeNames lets commands whose first argument is a workspace accept names and id suffixes, in
// their options and in the argument after it. Commands that parse their own arguments call
// ReplacingNames.
func (a *App) takeNames(commands []*cobra.Command) {
	for _, cmd := range commands {
		if inner := cmd.RunE; TakesNames(cmd) && !cmd.DisableFlagParsing {
			cmd.RunE = func(cmd *cobra.Command, given []string) error { return a.ReplacingNames(cmd, given, inner) }
		}
	}
}

// ReplacingNames runs a command with names replaced by ids.
func (a *App) ReplacingNames(cmd *cobra.Command, given []string, run func(*cobra.Command, []string) error) error {
	given, notes, err := a.withIDs(cmd, given)
	if err == nil {
		err = run(cmd, given)
	}
	for _, note := range notes {
		if err == nil {
			fmt.Fprintf(a.Stderr, "note: %s\n", OneLine(note))
		}
	}
	return err
}

// slot is a part of the command line with words that name things of a kind.
type slot struct {
	kind  string
	loose bool // unknown words are passed on
	words []string
	set   func(ids []string) error
}

// withIDs replaces names in the options of a command and in the argument after the workspace. It
// returns notes about unknown words, to print if the command succeeds.
func (a *App) withIDs(cmd *cobra.Command, given []string) (changed, notes []string, err error) {
	if len(given) == 0 {
		return given, nil, nil
	}
	if at, ok := workspaceIn(given[0]); !ok || at != given[0] {
		notes, err = noWorkspace(cmd.Name(), given[0])
		return given, notes, err
	}
	slots := slotsOf(cmd)
	if kind := ArgumentKind(cmd); kind != "" && len(given) > 1 && (kind != kindRun || given[1] != NewestRun) {
		given = slices.Clone(given)
		slots = append(slots, slot{kind, isUnchecked(cmd.Name(), kind), given[1:2], func([]string) error { return nil }})
	}
	if !slices.ContainsFunc(slots, func(s slot) bool { return slices.ContainsFunc(s.words, s.looksUp) }) {
		return given, nil, nil
	}
	return given, notes, a.Across(func(all *company.Host) error {
		c := &Call{App: a, Ctx: cmd.Context(), All: all, Now: all.Now(), Scope: Scope{Dir: given[0]}}
		for _, s := range slots {
			more, err := c.fill(s)
			if notes = append(notes, more...); err != nil {
				return err
			}
		}
		return nil
	})
}

// looksUp reports whether a word must be looked up. Full ids are not, except where an unknown id
// would yield an empty answer.
func (s slot) looksUp(word string) bool {
	return strings.TrimSpace(word) != "" && (!isFullID(word) || s.loose && hasNames(s.kind))
}

// slotsOf returns the options on the command line that name things. The project comes first,
// because the others are looked up in it.
func slotsOf(cmd *cobra.Command) (slots []slot) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		kind := KindOf(cmd.Name(), f.Name)
		if kind == "" {
			return
		}
		s := slot{kind: kind, loose: isUnchecked(cmd.Name(), kind), words: []string{f.Value.String()}}
		s.set = func(ids []string) error { return f.Value.Set(ids[0]) }
		if several, ok := f.Value.(pflag.SliceValue); ok {
			s.words, s.set = slices.Clone(several.GetSlice()), several.Replace
		}
		if kind == KindProject {
			slots = slices.Insert(slots, 0, s)
		} else {
			slots = append(slots, s)
		}
	})
	return slots
}

// fill replaces the words of a slot by ids.
func (c *Call) fill(s slot) (notes []string, err error) {
	for i, word := range s.words {
		if !s.looksUp(word) {
			continue
		}
		id, note, err := c.named(s, word)
		if err != nil {
			return notes, err
		}
		if s.words[i] = id; note != "" {
			notes = append(notes, note)
		}
	}
	if s.kind == KindProject {
		c.Project = s.words[0]
	}
	return notes, s.set(s.words)
}

// named returns the id of what a word names. For an unknown word it returns the word and a note, or
// an error. If the word cannot be an id, or the workspace cannot be read, the operation reports the
// error.
func (c *Call) named(s slot, word string) (id, note string, err error) {
	kind := s.kind
	if kind == kindActor {
		kind = KindAgent
	}
	if kind == KindAgent && isNoAgent(word) {
		return word, "", nil
	}
	known, err := c.Known(kind)
	if err == nil && c.Company == "" {
		c.Company, err = company.Do(c.Ctx, c.All, (*company.Company).Name, c.DirParam())
	}
	if err != nil {
		return word, "", nil //nolint:nilerr // as above
	}
	found, err := Lookup(kind, word, c.Company, known)
	choice, _ := errors.AsType[ChoiceError](err)
	switch {
	case err == nil:
		return found.ID, "", nil
	case len(choice.Lines) > 0:
		return word, "", err
	case shape.CheckID(word) != "":
		return word, "", nil
	case s.loose || isIDOf(kind, word):
		return word, UnknownName(kind, word, filepath.Base(c.Dir), known).Error(), nil
	}
	return word, "", err
}

// isIDOf reports whether a word has the form of an id of an agent or a team. Operations record such
// ids even for agents and teams of other workspaces.
func isIDOf(kind, word string) bool {
	return kind == KindAgent && strings.HasPrefix(word, "agent_") || kind == KindTeam && strings.HasPrefix(word, "team_")
}

// isNoAgent reports whether a word names an actor that is not an agent.
func isNoAgent(word string) bool {
	return slices.Contains([]string{"human", "human_ceo", "system"}, word)
}

// noWorkspace returns a note, or an error, about a folder that is not a workspace, for commands
// that accept any folder. Other commands report it themselves, or create a workspace.
func noWorkspace(command, dir string) (notes []string, err error) {
	switch command {
	case "session:list", "task:list", "conversation:list":
		return nil, fmt.Errorf("%s is not a workspace", dir)
	case "run:list", "job:list", "comment:list", "inbox:snapshot", "ui:snapshot", "monitor:runs":
		return []string{dir + " is not a workspace"}, nil
	}
	return nil, nil
}
