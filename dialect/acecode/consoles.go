package acecode

// Consoles: shells on this machine. Only the user of this process may use them, whatever token a
// client has, because no policy applies to what is typed there.

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"ac/company/equipment"
	"ac/dialect"
	"ac/internal/fault"
	"ac/internal/httpguard"
	"ac/terminal"
)

// consoles returns whether consoles are available. They never are on an address that other machines
// can reach.
func (s *server) consoles(ctx context.Context) consoleHealth {
	if !s.opts.Terminals || !s.onLoopback {
		return consoleHealth{}
	}
	known, err := dialect.Do(ctx, s.Company, equipment.Operations.ListTerminals, s.In())
	if err != nil {
		return consoleHealth{}
	}
	return consoleHealth{known.Available, known.Backend}
}

// onConsole wraps a handler for consoles. It admits only the user of this process, and only if
// consoles are available.
func onConsole(h handler) handler {
	return func(s *server, r *request) (any, error) {
		if !httpguard.PeerOf(r.Context()).Trusted {
			return nil, refuse(http.StatusForbidden, "console is loopback-only")
		}
		if !s.consoles(r.Context()).Available {
			return nil, noConsole()
		}
		result, err := h(s, r)
		return result, consoleRefusal(err)
	}
}

func noConsole() error { return refuse(http.StatusServiceUnavailable, "console is not available") }

// consoleRefusal converts an error about a console into the protocol's.
func consoleRefusal(err error) error {
	switch reason := fault.ReasonOf(err); reason {
	case fault.TerminalDisabled, fault.TerminalUnavailable:
		return noConsole()
	case fault.TerminalNotFound, fault.TerminalExited:
		return refuse(http.StatusNotFound, "unknown pty session")
	case fault.TerminalLimit:
		return refuse(http.StatusTooManyRequests, fmt.Sprintf("pty session limit reached (%d)", terminal.Limit))
	case fault.TerminalViewers:
		return explain(http.StatusTooManyRequests, string(reason), err.Error())
	case fault.PathOutsideRoot, fault.NotADirectory:
		return explain(http.StatusBadRequest, string(reason), err.Error())
	case fault.ActorNotAllowed:
		return explain(http.StatusForbidden, string(reason), err.Error())
	default:
		return err
	}
}

// consoleRow is a console as clients see it.
type consoleRow struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Shell    string `json:"shell"`
	Cwd      string `json:"cwd"`
	Status   string `json:"status"`
	PID      int    `json:"pid"`
	Backend  string `json:"backend"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

func consoleOf(i terminal.Info, backend string) consoleRow {
	return consoleRow{i.ID, i.Title, i.Shell, i.CWD, i.Status, i.PID, backend, i.ExitCode}
}

// consoleList lists the consoles, oldest first.
type consoleList struct {
	Backend  string       `json:"backend"`
	Sessions []consoleRow `json:"sessions"`
}

func listConsoles(s *server, r *request) (any, error) {
	found, err := dialect.Do(r.Context(), s.Company, equipment.Operations.ListTerminals, s.In())
	list := consoleList{found.Backend, []consoleRow{}}
	for _, i := range found.Terminals {
		list.Sessions = append(list.Sessions, consoleOf(i, found.Backend))
	}
	return list, err
}

func createConsole(s *server, r *request) (any, error) {
	var p struct {
		Cwd   string `json:"cwd"`
		Title string `json:"title"`
		Shell string `json:"shell"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	made, err := dialect.Do(r.Context(), s.Company, equipment.Operations.CreateTerminal, equipment.CreateTerminalParams{
		Dir: s.In(), PersonParams: s.person(), CWD: cmp.Or(p.Cwd, s.cwd), Shell: p.Shell, Title: p.Title, Via: Name,
	})
	if fault.Is(err, fault.ShellNotAllowed) || fault.Is(err, fault.ShellUnavailable) {
		return nil, &refusal{http.StatusBadRequest, errorBody{Error: "shell unavailable", Shell: p.Shell}}
	}
	return status{http.StatusCreated, consoleOf(made, s.consoles(r.Context()).Backend)}, err
}

// shellRow is a shell that a console can run.
type shellRow struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	Available bool   `json:"available"`
	NeedsPath bool   `json:"needs_path"` // always false
}

type shellList struct {
	Shells  []shellRow `json:"shells"`
	Default string     `json:"default"`
}

func listShells(s *server, r *request) (any, error) {
	found, err := dialect.Do(r.Context(), s.Company, equipment.Operations.Shells, s.In())
	list := shellList{[]shellRow{}, found.Default}
	for _, one := range found.Shells {
		list.Shells = append(list.Shells, shellRow{one.ID, one.Label, one.Available, false})
	}
	return list, err
}

// console returns the params for the console of a request.
func (s *server) console(r *request) equipment.OneTerminal {
	return equipment.OneTerminal{Dir: s.In(), PersonParams: s.person(), TerminalID: r.PathValue("pty")}
}

func deleteConsole(s *server, r *request) (any, error) {
	_, err := dialect.Do(r.Context(), s.Company, equipment.Operations.CloseTerminal, equipment.CloseTerminalParams{OneTerminal: s.console(r), Via: Name})
	return nil, err
}

func resizeConsole(s *server, r *request) (any, error) {
	var p struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	_, err := dialect.Do(r.Context(), s.Company, equipment.Operations.ResizeTerminal, equipment.ResizeTerminalParams{
		OneTerminal: s.console(r), Cols: p.Cols, Rows: p.Rows,
	})
	if fault.Is(err, fault.InvalidParams) {
		err = refuse(http.StatusBadRequest, "cols/rows out of range")
	}
	return nil, err
}

func renameConsole(s *server, r *request) (any, error) {
	var p struct {
		Title string `json:"title"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	_, err := dialect.Do(r.Context(), s.Company, equipment.Operations.RenameTerminal, equipment.RenameTerminalParams{OneTerminal: s.console(r), Title: p.Title})
	return nil, err
}
