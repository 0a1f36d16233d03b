package comma

// Messages from clients: the fields of each type, and their validation.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ac/internal/canonjson"
)

// Limits of messages.
const (
	maxMessage = 16 << 20 // bytes
	maxNesting = 512
	maxSaid    = 256 << 10 // of an input, and of an answer to a request for input
	maxSteer   = 64 << 10
)

// request is a message from a client. Its type determines which members are set; absent ones are
// empty.
type request struct {
	Type      string  `json:"type"`
	RequestID *string `json:"requestId"`

	RunID         string `json:"runId"`
	StrategyPath  string `json:"strategyPath"`
	ModelOverride string `json:"modelOverride"`
	Cwd           string `json:"cwd"`
	ManifestPath  string `json:"manifestPath"`
	Input         string `json:"input"`

	AgentName           string   `json:"agentName"`
	Text                string   `json:"text"`
	PermissionRequestID string   `json:"permissionRequestId"`
	Decision            string   `json:"decision"`
	QuestionRequestID   string   `json:"questionRequestId"`
	Response            string   `json:"response"`
	Tool                string   `json:"tool"`
	Mode                string   `json:"mode"`
	Allow               []string `json:"allow"`
	Deny                []string `json:"deny"`
	Default             string   `json:"default"`

	Scope      string `json:"scope"`
	ModelID    string `json:"modelId"`
	ProviderID string `json:"providerId"`
	ServerID   string `json:"serverId"`
	Enabled    bool   `json:"enabled"`
}

// kind is the type of a member.
type kind int

const (
	aText       kind = iota
	aFilledText      // not empty
	aFlag
	someTexts
	anObject
	aWord // one of a set
)

// member describes a member of a message.
type member struct {
	name     string
	kind     kind
	optional bool
	most     int // bytes of a text, 0 for any
	words    []string
}

// required returns a required member.
func required(name string, k kind) member { return member{name: name, kind: k} }

// optional returns an optional member.
func optional(name string, k kind) member { return member{name: name, kind: k, optional: true} }

func oneOf(name string, words ...string) member { return member{name: name, kind: aWord, words: words} }

func (m member) upTo(most int) member {
	m.most = most
	return m
}

func (m member) orNone() member {
	m.optional = true
	return m
}

// messageType describes a type of message.
type messageType struct {
	name    string
	members []member
}

// messageTypes returns all known types, in the order in which the error for an unknown type lists
// them.
func messageTypes() []messageType {
	run := required("runId", aFilledText)
	return []messageType{
		{"ping", nil},
		{"prepare_run", []member{optional("runId", aFilledText), optional("strategyPath", aFilledText), optional("modelOverride", aFilledText), optional("cwd", aFilledText), optional("manifestPath", aFilledText)}},
		{"start_run", []member{run, optional("input", aText)}},
		{"continue_run", []member{run, required("input", aText)}},
		{"stop_run", []member{run}},
		{"list_strategies", nil},
		{"list_runs", []member{optional("cwd", aText)}},
		{"list_providers", []member{optional("scope", aText), optional("live", aFlag)}},
		{"get_available_models", []member{optional("modelId", aText), optional("scope", aText)}},
		{"subscribe", []member{run}},
		{"unsubscribe", []member{run}},
		{"user_input", []member{run, required("agentName", aFilledText), required("text", aText).upTo(maxSaid)}},
		{"steer_run", []member{run, required("text", aFilledText).upTo(maxSteer)}},
		{"permission_decision", []member{run, required("permissionRequestId", aFilledText), oneOf("decision", "allow", "deny", "allow-session", "deny-session")}},
		{"question_response", []member{run, required("questionRequestId", aFilledText), required("response", aText)}},
		{"update_policy", []member{run, optional("tool", aText), oneOf("mode", "read", "write"), optional("allow", someTexts), optional("deny", someTexts), oneOf("default", "allow", "deny", "ask").orNone()}},
		{"register_provider", []member{required("providerId", aFilledText)}},
		{"unregister_provider", []member{required("providerId", aFilledText)}},
		{"set_credential", []member{required("providerId", aFilledText), oneOf("credentialType", "api", "oauth", "custom"), optional("apiKey", aFilledText), optional("oauthToken", aFilledText), optional("customData", anObject)}},
		{"list_mcp_servers", []member{optional("cwd", aFilledText), optional("runId", aFilledText), optional("strategyPath", aFilledText)}},
		{"update_mcp_server", []member{required("serverId", aFilledText), required("enabled", aFlag), oneOf("scope", "default", "run"), optional("cwd", aFilledText), optional("runId", aFilledText), optional("strategyPath", aFilledText)}},
		{"trash_list", []member{optional("cwd", aText)}},
		{"trash_clear", []member{optional("cwd", aText)}},
		{"trash_restore", []member{required("cwd", aFilledText), required("trashPath", aFilledText), optional("targetPath", aText)}},
		{"hub_list", nil},
		{"hub_install", []member{required("name", aFilledText), optional("allowCode", aFlag)}},
		{"hub_update", []member{required("name", aFilledText), optional("allowCode", aFlag)}},
		{"hub_remove", []member{required("name", aFilledText)}},
	}
}

// failed is an error with a code of the protocol. It is sent as the reply.
type failed struct{ code, message string }

func (f *failed) Error() string { return f.message }

// fail returns such an error.
func fail(code, format string, args ...any) *failed {
	return &failed{code, fmt.Sprintf(format, args...)}
}

// Codes of error replies.
const (
	codeParse      = "PARSE_ERROR"
	codeValidation = "VALIDATION_ERROR"
	codeInternal   = "INTERNAL_ERROR"
)

// readMessage parses and checks a message. If it returns an error, r still has the requestId, if
// that is a text.
func readMessage(raw []byte) (r request, err error) {
	if !utf8.Valid(raw) || canonjson.Depth(raw) > maxNesting || !json.Valid(raw) {
		return r, fail(codeParse, "Invalid JSON")
	}
	given := map[string]json.RawMessage{} // the last of duplicate names counts
	if !canonjson.CheckedMembers(raw, func(key, value []byte) { given[string(key)] = value }) {
		return r, fail(codeValidation, "Invalid message: : Expected object, received %s", typeOf(raw))
	}
	if id := given["requestId"]; len(id) > 0 && id[0] == '"' {
		r.RequestID = new(canonjson.Unquote(id))
	}
	if name := given["type"]; len(name) > 0 && name[0] == '"' {
		r.Type = canonjson.Unquote(name)
	}
	kinds := messageTypes()
	var known *messageType
	names := make([]string, len(kinds))
	for i := range kinds {
		if names[i] = "'" + kinds[i].name + "'"; kinds[i].name == r.Type {
			known = &kinds[i]
		}
	}
	if known == nil {
		return r, fail(codeValidation, "Invalid message: type: Invalid discriminator value. Expected %s", strings.Join(names, " | "))
	}
	return r, r.fill(known.members, given)
}

// fill checks the members of a message and sets them.
func (r *request) fill(members []member, given map[string]json.RawMessage) error {
	var issues []string
	plain := []byte{'{'}
	for _, m := range append([]member{optional("requestId", aText)}, members...) {
		value, ok := given[m.name]
		if found := m.check(value); len(found) > 0 {
			issues = append(issues, found...)
			continue
		}
		if ok {
			if len(plain) > 1 {
				plain = append(plain, ',')
			}
			plain = append(append(canonjson.AppendString(plain, m.name), ':'), value...)
		}
	}
	kind, id := r.Type, r.RequestID
	if err := json.Unmarshal(append(plain, '}'), r); err != nil && len(issues) == 0 {
		issues = append(issues, ": "+err.Error())
	}
	r.Type, r.RequestID = kind, id
	if kind == "prepare_run" && len(issues) == 0 && r.RunID == "" && r.StrategyPath == "" {
		issues = append(issues, "strategyPath: prepare_run requires runId or strategyPath")
	}
	if len(issues) > 0 {
		return fail(codeValidation, "Invalid message: %s", strings.Join(issues, "; "))
	}
	return nil
}

// check returns what is wrong with the value of a member.
func (m member) check(value json.RawMessage) (issues []string) {
	say := func(format string, args ...any) []string {
		return []string{m.name + ": " + fmt.Sprintf(format, args...)}
	}
	if value == nil {
		if m.optional {
			return nil
		}
		return say("Required")
	}
	want := map[kind]string{aText: "string", aFilledText: "string", aFlag: "boolean", someTexts: "array", anObject: "object"}[m.kind]
	if m.kind == aWord {
		return m.checkWord(value)
	}
	if got := typeOf(value); got != want {
		return say("Expected %s, received %s", want, got)
	}
	switch m.kind {
	case aText, aFilledText:
		said := canonjson.Unquote(value)
		if m.kind == aFilledText && said == "" {
			issues = say("String must contain at least 1 character(s)")
		}
		if m.most > 0 && len(said) > m.most {
			issues = say("String must contain at most %d character(s)", m.most)
		}
	case someTexts:
		at := 0
		canonjson.CheckedElements(value, func(item []byte) {
			if got := typeOf(item); got != "string" {
				issues = append(issues, m.name+"."+strconv.Itoa(at)+": Expected string, received "+got)
			}
			at++
		})
	case aFlag, anObject, aWord:
	}
	return issues
}

func (m member) checkWord(value json.RawMessage) []string {
	expected := "'" + strings.Join(m.words, "' | '") + "'"
	if got := typeOf(value); got != "string" {
		return []string{m.name + ": Expected " + expected + ", received " + got}
	}
	said := canonjson.Unquote(value)
	for _, w := range m.words {
		if w == said {
			return nil
		}
	}
	return []string{m.name + ": Invalid enum value. Expected " + expected + ", received '" + said + "'"}
}

// typeOf returns the name of a JSON value's type.
func typeOf(value []byte) string {
	for _, c := range value {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			return "string"
		case '{':
			return "object"
		case '[':
			return "array"
		case 't', 'f':
			return "boolean"
		case 'n':
			return "null"
		}
		return "number"
	}
	return "undefined"
}
