// Package grant lets the agent of a live session use ac's own tools under the
// identity of its run. The supervisor of the session writes a grant, a file with a
// random token; `ac mcp:serve` presents the token at the supervisor's socket and
// learns there who the run is.
//
// Invariants: identity comes from the supervisor alone, never from a file, an
// argument or the environment; nothing is answered on a connection before its token
// was right; tokens are compared in constant time; a grant ends with its session.
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

// Version is that of the file.
const Version = 1

// Verbs of the supervisor's socket that this package answers. All but the first need
// the first on the same connection.
const (
	VerbGrant    = "grant"     // {token} -> Identity
	VerbCall     = "call"      // {arguments} -> Call
	VerbAsk      = "ask"       // Ask -> interaction.Record, and again when it is over
	VerbStartJob = "start_job" // {job_id} -> {}
)

// Identity is who a run is, and what its agent may do.
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
	Interactive     bool   `json:"interactive"`           // somebody can be asked
	LaunchJobs      bool   `json:"launch_jobs,omitempty"` // it may launch jobs
	// Self is who the agent is in the workspace of another machine, from the order of its
	// session: what needs that workspace is not served then. nil for one that is here.
	Self *Self `json:"self,omitempty"`
}

// Call is what a tool call is carried out with: the identity as it is now, and the
// arguments without the secrets of the session.
type Call struct {
	Identity  Identity        `json:"identity"`
	Arguments json.RawMessage `json:"arguments"`
}

// Ask is a question to people, or, with an id, the wait for the answer to one that
// was asked in this session before.
type Ask struct {
	Question
	InteractionID string `json:"interaction_id,omitempty"`
}

// Question is what an agent asks people.
type Question struct {
	Text        string   `json:"question,omitempty"`
	Options     []string `json:"options,omitempty"` // none for an answer in words
	MultiSelect bool     `json:"multi_select,omitempty"`
	Context     string   `json:"context,omitempty"`
	ExpiresMS   int64    `json:"expires_ms,omitempty"` // 0 for the session's own limit
}

// Bounds of a question.
const (
	MaxText    = 16 << 10 // bytes of a text
	MinOptions = 2
	MaxOptions = 8
	maxExpires = 86_400_000
	minExpires = 1000
)

// check refuses what no tool asks.
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

// AnswerID is the id of the one question in an interaction that Request makes.
const AnswerID = "answer"

// Request is what people are shown: a question with choices, or an input. Ids and
// times are the supervisor's.
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

// file is what a grant holds.
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

// Write makes the grant of a session beside its socket: a file that only this user
// may read. hex returns so many random bytes in hexadecimal.
func Write(dir, socket string, hex func(bytes int) string) (name, token string, err error) {
	token = hex(32)
	text, err := json.Marshal(file{Version, socket, token})
	if err != nil {
		return "", "", err
	}
	name = filepath.Join(dir, socket+suffix)
	return name, token, writeNew(name, text)
}

// WriteConfig makes a file beside the socket that tells an agent of its MCP servers. Only
// this user may read it.
func WriteConfig(dir, socket string, text []byte) (name string, err error) {
	name = filepath.Join(dir, socket+configSuffix)
	return name, writeNew(name, text)
}

// ServerName is the name by which agents know the server.
const ServerName = "ac"

// writeNew writes a file that must not be there yet.
func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(durable.WriteAll(f, text), f.Close())
}

// Remove removes what Write and WriteConfig made for a socket. It is called at the
// end of the session, and by whoever reconciles it.
func Remove(dir, socket string) {
	if !socketName().MatchString(socket) {
		return
	}
	for _, end := range []string{suffix, configSuffix} {
		_ = os.Remove(filepath.Join(dir, socket+end)) // most sessions have none
	}
}

// read reads a grant: a regular file that only this user may read, named after its
// socket, in a directory that only this user may enter.
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

// private reports whether only this user may use a file or directory.
func private(st fs.FileInfo) bool { return st.Mode().Perm()&0o077 == 0 && proc.OwnedByUs(st) }
