package acecode

// The commands that the daemon itself executes: init and compact.

import (
	"cmp"
	_ "embed" // the texts of init
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/fault"
	"ac/runs/provider"
)

// initPrompt is the prompt of the command init. initSkeleton is the file that init writes if the
// agent's program is missing.
var (
	//go:embed init.md
	initPrompt string
	//go:embed skeleton.md
	initSkeleton string
)

const skeletonFile = "ACECODE.md"

type commandBody struct {
	Command string `json:"command"`
	Args    string `json:"args"`
	Display string `json:"display_text"`
}

type commandAnswer struct {
	Queued  bool   `json:"queued"`
	Command string `json:"command"`
}

// commandRow is a command in a list.
type commandRow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// builtins returns the commands that the daemon executes.
func builtins() []commandRow {
	return []commandRow{
		{"init", "Look at the repository and write or improve AGENTS.md"},
		{"compact", "Make the conversation smaller"},
	}
}

func runCommand(s *server, r *request) (any, error) {
	row, err := s.conversation(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var p commandBody
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(strings.TrimSpace(p.Command), "/")
	switch name {
	case "init":
		err = s.initialize(r, row, p)
	case "compact":
		compact := orchestration.CompactParams{}
		s.act(&compact, row.ID)
		_, err = dialect.Do(r.Context(), s.Company, orchestration.Operations.Compact, compact)
	default:
		return nil, &refusal{http.StatusBadRequest, errorBody{Error: "unsupported command", Command: &p.Command}}
	}
	if err != nil {
		return nil, err
	}
	s.state.wake(row.ID)
	return status{http.StatusAccepted, commandAnswer{true, name}}, nil
}

// initialize makes the agent describe the repository. If the agent's program is not on this
// machine, it writes a skeleton of the file instead.
func (s *server) initialize(r *request, row workforce.RunWithLog, p commandBody) error {
	missing, err := s.programMissing(r, row)
	if err != nil {
		return err
	}
	if missing {
		if err := s.writeSkeleton(); err != nil {
			return err
		}
		s.tell(row.ID, "The program of the agent is not installed; fill in "+skeletonFile+".")
		return nil
	}
	text := initPrompt
	if args := strings.TrimSpace(p.Args); args != "" {
		text += "\n" + args + "\n"
	}
	return s.say(r.Context(), row, saidBody{Text: text, display: cmp.Or(strings.TrimSpace(p.Display), "/init")})
}

// programMissing reports whether the program of a session's agent is known to be missing.
func (s *server) programMissing(r *request, row workforce.RunWithLog) (bool, error) {
	driver := provider.DriverOf(row.Provider)
	if driver == "" {
		return false, nil // the agent is a command
	}
	adapters, err := s.Adapters(r.Context())
	known := false
	for _, a := range adapters {
		if provider.Driver(a.Provider) == driver {
			known = true
			if a.Available {
				return false, err
			}
		}
	}
	return known, err
}

// writeSkeleton writes the skeleton unless the file exists.
func (s *server) writeSkeleton() error {
	root, err := os.OpenRoot(s.cwd)
	if err != nil {
		return fault.New(fault.IO, "%s cannot be opened: %w", s.cwd, err)
	}
	defer func() { _ = root.Close() }() // nothing to flush
	f, err := root.OpenFile(skeletonFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(initSkeleton)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fault.New(fault.IO, "%s cannot be written: %w", skeletonFile, err)
	}
	return nil
}

// commandsAnswer lists what can follow a slash.
type commandsAnswer struct {
	Builtins []commandRow `json:"builtins"`
	Commands []struct{}   `json:"commands"`
	Skills   []commandRow `json:"skills"`
}

func commandList(s *server, r *request) (any, error) {
	skills, err := s.skillRows(r.Context())
	return commandsAnswer{builtins(), []struct{}{}, skills}, err
}
