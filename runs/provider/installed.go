package provider

// Detection of installed agent programs. Detection never sends a prompt.

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"ac/workspace/doc"
)

// States of an installed agent program.
const (
	Ready       = "ready"
	NotSignedIn = "not_signed_in"
	Unknown     = "unknown" // only a prompt could show it
)

// Installed describes one agent program, whether or not the machine has it.
type Installed struct {
	Name     string // of the agent that ac creates for it
	Program  string // its name in PATH
	Provider string
	// Command is the command line that starts it as an ACP agent, for providers without a
	// built-in one.
	Command []string
	Found   bool
	Path    string
	Version string
	State   string
	Hint    string // how to sign in
	Reason  string // why it does not work, "" if it does
}

// detector describes how to detect one agent program.
type detector struct {
	Installed
	keys  []string // variables any of which signs it in
	login []string // arguments that exit with 0 if it is signed in
	needs []string // arguments that must exit with 0
	acp   []string // arguments that start the Agent Client Protocol
}

func detectors() []detector {
	return []detector{
		{
			Installed: Installed{Name: "Codex", Program: "codex", Provider: doc.ProviderCodex, Hint: "run codex login"},
			keys:      []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, login: []string{"login", "status"}, needs: []string{"app-server", "--help"},
		},
		{
			Installed: Installed{Name: "Claude", Program: "claude", Provider: "claude", Hint: "run claude once"},
			keys:      []string{"ANTHROPIC_API_KEY"}, login: []string{"auth", "status"},
		},
		{
			Installed: Installed{Name: "Gemini", Program: "gemini", Provider: "gemini", Hint: "run gemini once"},
			keys:      []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		},
		{Installed: Installed{Name: "OpenCode", Program: "opencode", Provider: "opencode"}, acp: []string{"acp"}},
		{Installed: Installed{Name: "Goose", Program: "goose", Provider: "acp-goose", Command: []string{"goose", "acp"}}, acp: []string{"acp"}},
	}
}

// Programs returns the names, in PATH, of the agent programs that LookForAgents detects.
func Programs() (names []string) {
	for _, k := range detectors() {
		names = append(names, k.Program)
	}
	return names
}

// patience holds the time limits of queries: about for CLI queries, acp for the Agent Client
// Protocol.
type patience struct{ about, acp time.Duration }

// LookForAgents detects all known agent programs, concurrently. A query has no input and is
// limited to 4 seconds; an ACP handshake is limited to 8. The programs run without the AC_
// variables of environ. If probe is false, LookForAgents only searches PATH. If looked is not
// nil, LookForAgents calls it after each program with the number checked so far. Calls of looked
// never overlap.
func LookForAgents(ctx context.Context, environ []string, probe bool, looked func(looked, of int)) []Installed {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "AC_") })
	known := detectors()
	found := make([]Installed, len(known))
	var group sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for i := range known {
		group.Go(func() {
			found[i] = known[i].detect(ctx, environ, probe, patience{about: 4 * time.Second, acp: 8 * time.Second})
			mu.Lock()
			defer mu.Unlock()
			if n++; looked != nil {
				looked(n, len(known))
			}
		})
	}
	group.Wait()
	return found
}

func (k *detector) detect(ctx context.Context, environ []string, probe bool, wait patience) Installed {
	program, err := Find(k.Program, value(environ, "PATH"))
	if err != nil {
		return k.Installed
	}
	k.Found, k.Path, k.State = true, program.Path, Unknown
	if !probe {
		return k.Installed
	}
	var version, needed, login, hello answer
	var group sync.WaitGroup
	query := func(into *answer, words []string) {
		if len(words) > 0 {
			group.Go(func() { *into = ask(ctx, environ, wait.about, program.Path, words...) })
		}
	}
	query(&version, []string{"--version"})
	query(&needed, k.needs)
	if !k.signedInByKey(environ) {
		query(&login, k.login)
	}
	if len(k.acp) > 0 {
		group.Go(func() {
			hello = askWith(ctx, environ, wait.acp, acpHello, acpAnswered, program.Path, k.acp...)
		})
	}
	group.Wait()
	k.Version, _, _ = strings.Cut(strings.TrimSpace(version.stdout), "\n")
	if version.late { // some programs take many seconds to start on a busy machine
		k.Version = packagedVersion(program.Path)
		version.ok = k.Version != ""
	}
	switch {
	case !version.ok:
		k.Reason = k.Program + " --version failed or hung"
	case strings.TrimSpace(k.Version) == "":
		k.Reason = k.Program + " --version printed nothing"
	case len(k.needs) > 0 && !needed.ok:
		k.Reason = k.Program + " " + strings.Join(k.needs, " ") + " failed"
	case len(k.acp) > 0 && !acpAnswered([]byte(hello.stdout)):
		k.Reason = k.Program + " " + strings.Join(k.acp, " ") + " did not answer initialize"
	case len(k.acp) > 0 || k.signedInByKey(environ) || login.ok && len(k.login) > 0:
		k.State = Ready
	case len(k.login) > 0:
		k.State = NotSignedIn
	}
	return k.Installed
}

func (k *detector) signedInByKey(environ []string) bool {
	return slices.ContainsFunc(k.keys, func(key string) bool { return isSet(environ, key) })
}

// acpHello is the initialize request, the first message of the Agent Client Protocol.
const acpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}}}` + "\n"

// acpAnswered reports whether stdout contains a complete answer to acpHello.
func acpAnswered(stdout []byte) bool {
	for line := range bytes.Lines(stdout) {
		if bytes.Contains(line, []byte(`"protocolVersion"`)) && bytes.HasSuffix(line, []byte("\n")) {
			return true
		}
	}
	return false
}
