package acecode

// Consoles. They are of this machine only, whatever token a client brings, since what is
// typed there is judged by no policy.

import (
	"context"
	"net/http"

	"ac/company"
	"ac/dialect"
)

// consoles reports whether there are consoles.
func (s *server) consoles(ctx context.Context) consoleHealth {
	known, err := dialect.Do(ctx, s.Company, (*company.Host).Health, company.NoParams{})
	if err != nil || !s.opts.Terminals || !known.Terminals.Available {
		return consoleHealth{}
	}
	return consoleHealth{true, "posix"}
}

// consoleList is the consoles that run.
type consoleList struct {
	Backend  string     `json:"backend"`
	Sessions []struct{} `json:"sessions"`
}

// shellList is the shells that a console can have.
type shellList struct {
	Shells  []struct{} `json:"shells"`
	Default string     `json:"default"`
}

// onConsole is a handler of consoles: for clients on this machine.
func onConsole(h handler) handler {
	return func(s *server, r *request) (any, error) {
		if !isNear(r.Request) {
			return nil, refuse(http.StatusForbidden, "console is loopback-only")
		}
		return h(s, r)
	}
}

func listConsoles(s *server, r *request) (any, error) {
	return consoleList{s.consoles(r.Context()).Backend, []struct{}{}}, nil
}

func listShells(*server, *request) (any, error) { return shellList{[]struct{}{}, ""}, nil }

func noConsole(*server, *request) (any, error) {
	return nil, refuse(http.StatusServiceUnavailable, "console is not available")
}
