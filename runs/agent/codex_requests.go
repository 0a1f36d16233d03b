package agent

// codex's requests, and the responses to them. Each kind of request has its own result.

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ac/internal/shellwords"
)

// codexRequest is a request that waits for an answer.
type codexRequest struct {
	id     json.RawMessage
	result func(a Answer) any
}

// codexChange is a reported change of files.
type codexChange struct {
	paths []string
	diff  string
}

// maxChanges bounds the changes kept in memory.
const maxChanges = 200

// codexDecision is the response to most requests.
type codexDecision struct {
	Decision string `json:"decision"`
}

func approvalResult(a Answer) any {
	switch {
	case a.State == Allowed && a.Session:
		return codexDecision{"acceptForSession"}
	case a.State == Allowed:
		return codexDecision{"accept"}
	case a.State == Cancelled && a.Stopping:
		return codexDecision{"cancel"}
	}
	return codexDecision{"decline"}
}

// legacyApprovalResult is decided for the requests of older releases.
func legacyApprovalResult(a Answer) any {
	switch {
	case a.State == Allowed && a.Session:
		return codexDecision{"approved_for_session"}
	case a.State == Allowed:
		return codexDecision{"approved"}
	case a.State == Cancelled && a.Stopping:
		return codexDecision{"abort"}
	}
	return codexDecision{"denied"}
}

// item stores file changes, because requests refer to them only by item id. It also recognizes
// steers that the agent took.
func (c *codex) item(raw json.RawMessage) {
	var item struct {
		ID, Type, ClientID string
		Changes            []struct {
			Path, Diff string
			Kind       struct{ Type string }
		}
	}
	decode(raw, &item)
	switch item.Type {
	case "userMessage":
		if c.steers[item.ClientID] {
			c.taken(item.ClientID)
		}
	case "fileChange":
		if len(c.changes) >= maxChanges {
			clear(c.changes)
		}
		var change codexChange
		for _, file := range item.Changes {
			change.paths = append(change.paths, file.Path)
			change.diff += fileDiff(file.Path, file.Kind.Type, file.Diff)
		}
		c.changes[item.ID] = change
	}
}

// fileDiff returns the unified diff of one file. For a new or deleted file, text is its content.
func fileDiff(path, kind, text string) string {
	switch kind {
	case "add":
		return udiff.Unified("/dev/null", path, "", text)
	case "delete":
		return udiff.Unified(path, "/dev/null", text, "")
	}
	if strings.HasPrefix(text, "---") {
		return text
	}
	return "--- " + path + "\n+++ " + path + "\n" + text
}

// changeDiff returns the unified diff between two texts.
func changeDiff(path, before, after string) string { return udiff.Unified(path, path, before, after) }

// codexAsk is the part of codex's requests that we use.
type codexAsk struct {
	ItemID    string          `json:"itemId"`
	CallID    string          `json:"callId"`
	Reason    string          `json:"reason"`
	Command   json.RawMessage `json:"command"`
	Cwd       string          `json:"cwd"`
	GrantRoot string          `json:"grantRoot"`
	Network   *struct {
		Host string `json:"host"`
	} `json:"networkApprovalContext"`
	FileChanges map[string]json.RawMessage `json:"fileChanges"`
	Permissions json.RawMessage            `json:"permissions"`
	Questions   []struct {
		ID, Header, Question string
		IsOther, IsSecret    bool
		Options              []struct{ Label, Description string }
	} `json:"questions"`
	Server string          `json:"serverName"`
	Mode   string          `json:"mode"`
	URL    string          `json:"url"`
	Text   string          `json:"message"`
	Schema json.RawMessage `json:"requestedSchema"`
	Meta   struct {
		Kind   string          `json:"codex_approval_kind"`
		Tool   string          `json:"tool_name"`
		Params json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

func (c *codex) request(m message) {
	if _, waits := c.asked[string(m.ID)]; waits {
		return // an answer would be ambiguous
	}
	var p codexAsk
	decode(m.Params, &p)
	q := Request{Key: string(m.ID), Kind: Permission, Item: p.ItemID}
	result := approvalResult
	switch m.Method {
	case "item/commandExecution/requestApproval":
		p.execution(&q)
	case "item/fileChange/requestApproval":
		c.fileChange(&q, p)
	case "item/permissions/requestApproval":
		result = p.profile(&q)
	case "item/tool/requestUserInput":
		result = p.userInput(&q)
	case "mcpServer/elicitation/request":
		result = p.elicitation(&q)
	case "execCommandApproval":
		q.Item, result = p.CallID, legacyApprovalResult
		p.execution(&q)
	case "applyPatchApproval":
		q.Item, result = p.CallID, legacyApprovalResult
		q.Tool, q.Title, q.Prompt = "fileChange", "Change files", orElse(p.Reason, "The agent wants to change files.")
		q.Accesses = writes(slices.Sorted(maps.Keys(p.FileChanges)))
	default:
		_ = c.rpc.refuse(m.ID, m.Method) // best effort: the turn exposes an agent that does not read
		return
	}
	c.asked[q.Key] = codexRequest{slices.Clone(m.ID), result}
	c.host.Asked(q)
}

func (c *codex) Answer(request string, a Answer) error {
	asked, open := c.asked[request]
	if !open {
		return nil
	}
	delete(c.asked, request)
	return c.rpc.reply(asked.id, asked.result(a))
}

func orElse(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// arguments encodes v as JSON, nil if it cannot be encoded.
func arguments(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

func (p codexAsk) execution(q *Request) {
	command := commandText(p.Command)
	q.Tool, q.Title = "commandExecution", command
	q.Prompt = orElse(p.Reason, "The agent wants to run a command.")
	q.Accesses = []Access{{Execute, command}}
	if p.Network != nil {
		q.Title, q.Prompt = p.Network.Host, orElse(p.Reason, "The agent wants to reach a host.")
		q.Accesses = []Access{{Network, p.Network.Host}}
	}
	q.Args = arguments(struct {
		Command string `json:"command,omitempty"`
		Cwd     string `json:"cwd,omitempty"`
	}{command, p.Cwd})
}

func (c *codex) fileChange(q *Request, p codexAsk) {
	change := c.changes[p.ItemID]
	q.Tool, q.Title, q.Prompt = "fileChange", "Change "+strings.Join(change.paths, ", "), orElse(p.Reason, "The agent wants to change files.")
	if len(change.paths) == 0 {
		q.Title = "Change files"
	}
	q.Accesses, q.Diff = writes(change.paths), change.diff
	if p.GrantRoot != "" {
		q.Accesses = append(q.Accesses, Access{Write, p.GrantRoot})
	}
}

// writes returns the accesses for files to be written. Unknown files count as one with path "".
func writes(paths []string) (wants []Access) {
	for _, path := range paths {
		wants = append(wants, Access{Write, path})
	}
	if wants == nil {
		wants = []Access{{Write, ""}}
	}
	return wants
}

// profile handles a request for additional permissions.
func (p codexAsk) profile(q *Request) func(Answer) any {
	var profile struct {
		FileSystem struct {
			Read, Write []string
			Entries     []struct {
				Path   json.RawMessage
				Access string
			}
		} `json:"fileSystem"`
		Network *struct{ Enabled *bool } `json:"network"`
	}
	decode(p.Permissions, &profile)
	for _, path := range profile.FileSystem.Write {
		q.Accesses = append(q.Accesses, Access{Write, path})
	}
	for _, path := range profile.FileSystem.Read {
		q.Accesses = append(q.Accesses, Access{Read, path})
	}
	for _, entry := range profile.FileSystem.Entries {
		path := ""
		decode(entry.Path, &path)
		operation := Read
		if strings.Contains(entry.Access, "write") {
			operation = Write
		}
		q.Accesses = append(q.Accesses, Access{operation, path})
	}
	if n := profile.Network; n != nil && (n.Enabled == nil || *n.Enabled) {
		q.Accesses = append(q.Accesses, Access{Network, ""})
	}
	if q.Accesses == nil {
		q.Accesses = []Access{{Write, ""}}
	}
	q.Tool, q.Title, q.Prompt, q.Args = "permissions", "More permissions", orElse(p.Reason, "The agent wants more permissions."), p.Permissions
	type granted struct {
		Permissions json.RawMessage `json:"permissions"`
		Scope       string          `json:"scope"`
	}
	return func(a Answer) any {
		switch {
		case a.State != Allowed:
			return granted{json.RawMessage("{}"), "turn"}
		case a.Session:
			return granted{p.Permissions, "session"}
		}
		return granted{p.Permissions, "turn"}
	}
}

// codexAnswer is the answer to one question.
type codexAnswer struct {
	Answers []string `json:"answers"`
}

func (p codexAsk) userInput(q *Request) func(Answer) any {
	q.Kind, q.Tool = Question, "requestUserInput"
	for _, asked := range p.Questions {
		one := QuestionPart{ID: asked.ID, Header: asked.Header, Question: asked.Question, Free: asked.IsOther || len(asked.Options) == 0, Secret: asked.IsSecret}
		for _, option := range asked.Options {
			one.Choices = append(one.Choices, Choice(option))
		}
		q.Questions = append(q.Questions, one)
	}
	q.entitle()
	return func(a Answer) any {
		answers := map[string]codexAnswer{}
		for id, texts := range a.Answers {
			answers[id] = codexAnswer{texts}
		}
		return struct {
			Answers map[string]codexAnswer `json:"answers"`
		}{answers}
	}
}

// entitle derives the title and the prompt from the questions.
func (q *Request) entitle() {
	for _, one := range q.Questions {
		if q.Title == "" {
			q.Title = one.Question
		}
		q.Prompt = strings.TrimSpace(q.Prompt + "\n" + one.Question)
	}
	q.Title = orElse(q.Title, "The agent asks something.")
}

// commandText returns a command line without the shell that codex wraps it in.
func commandText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return shellwords.Unwrap(text)
	}
	var words []string
	decode(raw, &words)
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") {
		return words[2]
	}
	return strings.Join(words, " ")
}
