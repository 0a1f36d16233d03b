// Package grant lets the agent of a live session use ac's own tools under the identity of its
// run. The session's supervisor writes a grant, a file with a random token. `ac mcp:serve`
// presents the token at the supervisor's socket, and the supervisor returns the run's identity.
//
// Invariants: identity comes only from the supervisor, never from a file, an argument or the
// environment. A connection serves no other verb before it presents the right token. Tokens are
// compared in constant time. A grant ends with its session.
package grant

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/proc"
	"ac/runs/interaction"
)

// Version is the format version of the grant file.
const Version = 1

// Verbs of the supervisor's socket that this package answers. A connection must succeed with
// VerbGrant before it may use the others.
const (
	VerbGrant    = "grant"     // {token} -> Identity
	VerbCall     = "call"      // {arguments} -> Call
	VerbAsk      = "ask"       // Ask -> interaction.Record, and a second one with the outcome
	VerbStartJob = "start_job" // {job_id} -> {}
)

// Identity identifies a run and lists what its agent may do.
type Identity struct {
	WorkspaceDir    string `json:"workspace_dir"`
	ProjectID       string `json:"project_id"`
	RunID           string `json:"run_id"`
	SessionRef      string `json:"session_ref"`
	AgentID         string `json:"agent_id"`
	WorkingDir      string `json:"working_dir"`
	TaskID          string `json:"task_id,omitempty"`
	MilestoneID     string `json:"milestone_id,omitempty"`
	PermissionLevel string `json:"permission_level"`
	Mode            string `json:"mode"`
	Interactive     bool   `json:"interactive"`           // people can be asked
	LaunchJobs      bool   `json:"launch_jobs,omitempty"` // the agent may launch jobs
	// Self describes the agent of a session whose workspace is on another machine. It comes from
	// the session's order. Tools that need the workspace are then not served. nil for a local
	// workspace.
	Self *Self `json:"self,omitempty"`
}

// Call is an admitted tool call: the run's current identity, and the arguments with the
// session's secrets masked.
type Call struct {
	Identity  Identity        `json:"identity"`
	Arguments json.RawMessage `json:"arguments"`
}

// Ask is a question to people. With an InteractionID, it instead waits for the answer to an
// earlier question of the same session.
type Ask struct {
	Question
	InteractionID string `json:"interaction_id,omitempty"`
}

// Question is a question from an agent to people.
type Question struct {
	Text        string   `json:"question,omitempty"`
	Options     []string `json:"options,omitempty"` // empty for a free-text answer
	MultiSelect bool     `json:"multi_select,omitempty"`
	Context     string   `json:"context,omitempty"`
	ExpiresMS   int64    `json:"expires_ms,omitempty"` // 0 for the session's default timeout
}

// Limits of a question.
const (
	MaxText    = 16 << 10 // bytes of each text
	MinOptions = 2
	MaxOptions = 8
	maxExpires = 86_400_000
	minExpires = 1000
)

// check refuses questions that ac's own tools never send.
func (q Question) check() error {
	fits := strings.TrimSpace(q.Text) != "" && len(q.Text) <= MaxText && len(q.Context) <= MaxText
	fits = fits && (len(q.Options) == 0 && !q.MultiSelect || len(q.Options) >= MinOptions && len(q.Options) <= MaxOptions)
	fits = fits && (q.ExpiresMS == 0 || q.ExpiresMS >= minExpires && q.ExpiresMS <= maxExpires)
	for _, label := range q.Options {
		fits = fits && strings.TrimSpace(label) != "" && len(label) <= MaxText
	}
	if !fits {
		return fault.New(fault.InvalidParams, "the question does not fit its bounds")
	}
	return nil
}

// AnswerID is the id of the only question in a request that Question.Request builds.
const AnswerID = "answer"

// Request converts the question to an interaction: a question with choices, or an input. The
// supervisor sets its ids and times.
func (q Question) Request() interaction.Request {
	r := interaction.Request{Kind: interaction.Input, Title: strings.Join(strings.Fields(q.Text), " "), Prompt: q.Text, Tool: "ask_human", OnTimeout: interaction.CancelOnTimeout}
	if q.Context != "" {
		r.Prompt += "\n\n" + q.Context
	}
	if len(q.Options) > 0 {
		part := interaction.QuestionPart{QuestionID: AnswerID, Question: q.Text, Multi: q.MultiSelect, FreeText: true}
		for _, label := range q.Options {
			part.Options = append(part.Options, interaction.Choice{Label: label})
		}
		r.Kind, r.Questions = interaction.Question, []interaction.QuestionPart{part}
		r.Options = interaction.ChoiceOptions(r.Questions)
	}
	return r.Bounded()
}

// file is the content of a grant file.
type file struct {
	Version int    `json:"version"`
	Socket  string `json:"socket"`
	Token   string `json:"token"`
}

const (
	suffix       = ".grant"
	configSuffix = ".mcp.json"
	maxFile      = 4 << 10
)

var (
	socketName = lazyregexp.New(`^[0-9a-f]{16}$`)
	tokenText  = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// Write creates the grant file of a session next to its socket, with mode 0600. It returns the
// file's name and token. hex returns the given number of random bytes in hexadecimal.
func Write(dir, socket string, hex func(bytes int) string) (name, token string, err error) {
	token = hex(32)
	text, err := json.Marshal(file{Version, socket, token})
	if err != nil {
		return "", "", err
	}
	name = filepath.Join(dir, socket+suffix)
	return name, token, writeNew(name, text)
}

// WriteConfig creates an agent's MCP server configuration next to the socket, with mode 0600.
func WriteConfig(dir, socket string, text []byte) (name string, err error) {
	name = filepath.Join(dir, socket+configSuffix)
	return name, writeNew(name, text)
}

// ServerName is the name of ac's MCP server in agents' configurations.
const ServerName = "ac"

// writeNew creates a file. It fails if the file exists.
func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(durable.WriteAll(f, text), f.Close())
}

// Remove removes the files that Write and WriteConfig created for a socket, best effort. It is
// called at the end of the session and when a dead session is reconciled.
func Remove(dir, socket string) {
	if !socketName().MatchString(socket) {
		return
	}
	for _, end := range []string{suffix, configSuffix} {
		_ = os.Remove(filepath.Join(dir, socket+end)) // most sessions have neither
	}
}

// read reads a grant file. The file must be regular, private to this user and named after its
// socket, and its directory must be private as well.
func read(name string) (dir string, f file, err error) {
	if name, err = filepath.Abs(name); err != nil {
		return "", f, err
	}
	refuse := func(why string) (string, file, error) {
		return "", f, fault.New(fault.Denied, "%s %s", name, why)
	}
	st, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("does not exist: the session that it was for may be over")
	case err != nil:
		return "", f, err
	case !st.Mode().IsRegular() || !private(st):
		return refuse("must be a file that only this user may read")
	}
	dir = filepath.Dir(name)
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() || !private(st) {
		return refuse("must lie in a directory that only this user may enter")
	}
	root, err := durable.OpenRoot(dir)
	if err != nil {
		return "", f, err
	}
	text, err := durable.ReadFile(root, filepath.Base(name), maxFile)
	if err = errors.Join(err, root.Close()); err != nil {
		return "", f, err
	}
	if json.Unmarshal(text, &f) != nil || f.Version != Version || !socketName().MatchString(f.Socket) || !tokenText().MatchString(f.Token) {
		return refuse("is no grant")
	}
	if filepath.Base(name) != f.Socket+suffix {
		return refuse("is a copy of another session's grant")
	}
	return dir, f, nil
}

// private reports whether this user owns a file or directory and nobody else has access.
func private(st fs.FileInfo) bool { return st.Mode().Perm()&0o077 == 0 && proc.OwnedByUs(st) }
