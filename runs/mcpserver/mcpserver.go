// Package mcpserver manages the MCP servers of a workspace: which records are valid, which
// fields are shown, and what an agent gets at startup.
//
// Invariants: Shown returns no value of the environment, of a header or of a token except
// {env:NAME}. No server has a name under which its tools could pass for ac's own. A change is
// validated as a whole before any of it is stored.
package mcpserver

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/redact"
	"ac/workspace/doc"
)

// Server is an MCP server as returned by methods.
type Server struct {
	ID string `json:"server_id"`
	doc.MCPServer
	// Applies is when a change takes effect: always next_launch.
	Applies string `json:"applies"`
	// Drivers lists the drivers whose agents get the server.
	Drivers []string `json:"drivers"`
}

// Change is a requested change of a server. A nil field leaves the value as it is, or at its
// default for a new server.
type Change struct {
	ID             string             `json:"server_id" is:"id"`
	Transport      *string            `json:"transport" is:"optional"`
	Command        *string            `json:"command" is:"optional,empty"`
	Args           *[]string          `json:"args" is:"optional"`
	Env            *map[string]string `json:"env" is:"optional,empty"`
	URL            *string            `json:"url" is:"optional,empty"`
	Headers        *map[string]string `json:"headers" is:"optional,empty"`
	AuthToken      *string            `json:"auth_token" is:"optional,empty"`
	TimeoutSeconds *int               `json:"timeout_seconds" is:"optional"`
	Enabled        *bool              `json:"enabled" is:"optional"`
}

// Limits of a record.
const (
	MaxServers  = 64
	maxArgs     = 256
	maxNames    = 32
	maxValue    = 8 << 10
	maxTimeout  = 3600
	defaultTime = 30
)

var (
	serverID   = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)
	headerName = lazyregexp.New(`^[A-Za-z0-9-]{1,64}$`)
	envName    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	codexName  = lazyregexp.New(`^[A-Za-z0-9_-]+$`)
)

// ServerOf returns the server with its secret values hidden.
func ServerOf(id string, s doc.MCPServer) Server {
	s.Env, s.Headers = hide(s.Env), hide(s.Headers)
	if s.AuthToken != "" && !doc.OnlyEnvReference(s.AuthToken) {
		s.AuthToken = doc.Hidden
	}
	return Server{ID: id, MCPServer: s, Applies: "next_launch", Drivers: Drivers(id, s)}
}

// Drivers returns the drivers whose agents get a server. ACP agents report at startup which
// transports they support.
func Drivers(id string, s doc.MCPServer) []string {
	drivers := []string{doc.LiveACP, doc.LiveClaude}
	if s.Transport != doc.TransportSSE && codexName().MatchString(id) { // the limits of codex
		drivers = append(drivers, doc.LiveCodex)
	}
	return drivers
}

// hide replaces values with doc.Hidden, except references to variables.
func hide(values map[string]string) map[string]string {
	shown := maps.Clone(values)
	for name, value := range shown {
		if !doc.OnlyEnvReference(value) {
			shown[name] = doc.Hidden
		}
	}
	return shown
}

// invalidData is the error data of mcp_invalid.
type invalidData struct {
	ServerID string `json:"server_id"`
	Member   string `json:"member"`
}

// invalid returns the error for an invalid member of a server. Its message begins with both
// names.
func invalid(id, member, format string, args ...any) error {
	return fault.New(fault.MCPInvalid, "%s.%s %s", id, member, fmt.Sprintf(format, args...)).With(invalidData{id, member})
}

// Apply applies the change to a server, nil for a new one. It returns the complete server with
// plaintext values. secrets holds its stored values.
func (c Change) Apply(old *doc.MCPServer, secrets doc.MCPSecrets) (s doc.MCPServer, err error) {
	s = doc.MCPServer{TimeoutSeconds: defaultTime, Enabled: true}
	if old != nil {
		s = withSecrets(*old, secrets)
	}
	before := s
	if err := CheckID(c.ID); err != nil {
		return s, err
	}
	assign(&s.Transport, c.Transport)
	if s.Transport != before.Transport {
		s.Command, s.Args, s.Env, s.URL, s.Headers, s.AuthToken = "", nil, nil, "", nil, ""
	}
	assign(&s.Command, c.Command)
	assign(&s.Args, c.Args)
	assign(&s.URL, c.URL)
	assign(&s.TimeoutSeconds, c.TimeoutSeconds)
	assign(&s.Enabled, c.Enabled)
	if s.Env, err = c.values("env", c.Env, s.Env, before.Env); err != nil {
		return s, err
	}
	if s.Headers, err = c.values("headers", c.Headers, s.Headers, before.Headers); err != nil {
		return s, err
	}
	if c.AuthToken != nil && *c.AuthToken != doc.Hidden {
		s.AuthToken = *c.AuthToken
	} else if c.AuthToken != nil && before.AuthToken == "" {
		return s, invalid(c.ID, "auth_token", "has no value that %s could keep", doc.Hidden)
	}
	if len(s.Args) == 0 {
		s.Args = nil
	}
	return s, check(c.ID, s)
}

// Anew is Apply for a server that replaces the one with its id, if any. Omitted fields get their
// defaults. A value of doc.Hidden keeps the stored value.
func (c Change) Anew(machine doc.Machine, secrets doc.Secrets) (doc.MCPServer, error) {
	old, known := machine.MCPServers[c.ID]
	if !known {
		return c.Apply(nil, doc.MCPSecrets{})
	}
	if c.Transport == nil {
		return old, invalid(c.ID, "transport", "must be stdio, http or sse")
	}
	set := func(text **string) {
		if *text == nil {
			*text = new("")
		}
	}
	set(&c.Command)
	set(&c.URL)
	set(&c.AuthToken)
	if c.Args == nil {
		c.Args = &[]string{}
	}
	if c.Env == nil {
		c.Env = &map[string]string{}
	}
	if c.Headers == nil {
		c.Headers = &map[string]string{}
	}
	if c.TimeoutSeconds == nil {
		c.TimeoutSeconds = new(defaultTime)
	}
	if c.Enabled == nil {
		c.Enabled = new(true)
	}
	return c.Apply(&old, secrets.MCPServers[c.ID])
}

func assign[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

// values returns the new values of a map member. It replaces doc.Hidden with the previous value.
func (c Change) values(member string, given *map[string]string, now, before map[string]string) (map[string]string, error) {
	if given == nil {
		return now, nil
	}
	if len(*given) == 0 {
		return nil, nil
	}
	values := maps.Clone(*given)
	for name, value := range values {
		kept, known := before[name]
		switch {
		case value == doc.Hidden && !known:
			return nil, invalid(c.ID, member, "%q has no value that %s could keep", name, doc.Hidden)
		case value == doc.Hidden:
			values[name] = kept
		}
	}
	return values, nil
}

// CheckID refuses an id under which a server's tools could pass for ac's own, which every run's
// policy allows. Agents name a tool mcp__SERVER__TOOL, with "_" in place of other characters.
func CheckID(id string) error {
	if !serverID().MatchString(id) || strings.Trim(id, "._-") == "" {
		return invalid(id, "server_id", "must be 1 to 64 of A-Z a-z 0-9 _ . -, with a letter or digit")
	}
	name := strings.ToLower(strings.ReplaceAll(id, ".", "_"))
	if name == "ac" || strings.HasPrefix(name, "ac_") {
		return invalid(id, "server_id", "is taken: ac and names that begin with ac_ are those of ac's own tools")
	}
	return nil
}

// check refuses a server that cannot be configured for an agent.
func check(id string, s doc.MCPServer) error {
	switch s.Transport {
	case doc.TransportStdio:
		return checkProgram(id, s)
	case doc.TransportHTTP, doc.TransportSSE:
		return checkAddress(id, s)
	}
	return invalid(id, "transport", "must be stdio, http or sse")
}

func checkProgram(id string, s doc.MCPServer) error {
	switch {
	case strings.TrimSpace(s.Command) == "":
		return invalid(id, "command", "is needed with transport stdio")
	case !plain(s.Command):
		return invalid(id, "command", "must be one line of at most %d bytes", maxValue)
	case s.URL != "" || len(s.Headers) > 0 || s.AuthToken != "":
		return invalid(id, "url", "does not go with transport stdio, nor do headers and auth_token")
	case len(s.Args) > maxArgs:
		return invalid(id, "args", "must be at most %d", maxArgs)
	}
	for _, word := range s.Args {
		if len(word) > maxValue || strings.ContainsRune(word, 0) {
			return invalid(id, "args", "must be words of at most %d bytes without NUL", maxValue)
		}
	}
	if redact.Find(s.Command+" "+strings.Join(s.Args, " ")).Total() > 0 {
		return invalid(id, "args", "seem to hold a secret: put it into env")
	}
	return checkRest(id, s, "env", s.Env, envName())
}

func checkAddress(id string, s doc.MCPServer) error {
	if s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 {
		return invalid(id, "command", "goes with transport stdio alone, as do args and env")
	}
	if err := CheckURL(s.URL); err != nil {
		return invalid(id, "url", "%v", err)
	}
	if !plain(s.AuthToken) {
		return invalid(id, "auth_token", "must be one line of at most %d bytes", maxValue)
	}
	return checkRest(id, s, "headers", s.Headers, headerName())
}

// CheckURL refuses a URL that is not an http or https address, or that contains a secret.
// Methods return URLs in full, so a secret in one would leak.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || !plain(text):
		return fault.New(fault.InvalidURL, "must be an http or https address")
	case u.User != nil || redact.Find(text).Total() > 0:
		return fault.New(fault.InvalidURL, "must not hold a secret: headers and keys are kept apart")
	}
	for name := range u.Query() {
		if redact.SecretName(name) {
			return fault.New(fault.InvalidURL, "must not hold a secret: headers and keys are kept apart")
		}
	}
	return nil
}

func checkRest(id string, s doc.MCPServer, member string, values map[string]string, name *regexp.Regexp) error {
	if s.TimeoutSeconds < 1 || s.TimeoutSeconds > maxTimeout {
		return invalid(id, "timeout_seconds", "must be 1 to %d", maxTimeout)
	}
	if why := checkValues(values, name); why != "" {
		return invalid(id, member, "%s", why)
	}
	return nil
}

// CheckHeaders returns why headers cannot be sent, "" if they can.
func CheckHeaders(headers map[string]string) string { return checkValues(headers, headerName()) }

// checkValues returns why names and values are invalid, "" if they are valid.
func checkValues(values map[string]string, pattern *regexp.Regexp) string {
	if len(values) > maxNames {
		return fmt.Sprintf("must be at most %d", maxNames)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lower := strings.ToLower(name)
		switch {
		case !pattern.MatchString(name):
			return fmt.Sprintf("must not have the name %q", name)
		case lower == "content-type":
			return "must not name Content-Type, which the agent sets"
		case strings.Contains(name, "-") && seen[lower]:
			return fmt.Sprintf("must have %s once", name)
		case !plain(values[name]):
			return fmt.Sprintf("%s must have a value of at most %d bytes without CR, LF and NUL", name, maxValue)
		}
		seen[lower] = true
	}
	return ""
}

func plain(value string) bool {
	return len(value) <= maxValue && !strings.ContainsAny(value, "\r\n\x00")
}
