package comma

// Strategies: their file format, and its validation.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// maxAgents bounds the agents of a strategy.
const maxAgents = 64

type strategyFile struct {
	_           struct{}    `is:"strict"`
	Name        string      `json:"name"`
	Version     string      `json:"version"`
	Description string      `json:"description" is:"optional,empty"`
	Agents      shape.Value `json:"agents" is:"object"`
	MCPServers  shape.Value `json:"mcpServers" is:"optional"`
	Flow        shape.Value `json:"flow" is:"object"`
}

type agentFile struct {
	_                    struct{}    `is:"strict"`
	Type                 string      `json:"type" is:"optional"`
	Description          string      `json:"description" is:"optional,empty"`
	SystemPrompt         string      `json:"systemPrompt" is:"optional,empty"`
	SystemPromptTemplate *promptFile `json:"systemPromptTemplate" is:"optional"`
	Model                string      `json:"model" is:"optional"`
	Tools                []string    `json:"tools" is:"optional"`
	OutputSchema         shape.Value `json:"outputSchema" is:"optional"`
	Skills               []string    `json:"skills" is:"optional"`
	MaxSteps             float64     `json:"maxSteps" is:"optional,gt=0"`
	ModelOptions         shape.Value `json:"modelOptions" is:"optional,object"`
	ProviderOptions      shape.Value `json:"providerOptions" is:"optional,object"`
	Context              shape.Value `json:"context" is:"optional"`
	MCPServers           shape.Value `json:"mcpServers" is:"optional"`
}

type promptFile struct {
	_         struct{}    `is:"strict"`
	Template  string      `json:"template" is:"empty"`
	Variables shape.Value `json:"variables" is:"optional,object"`
}

type userFile struct {
	_           struct{}    `is:"strict"`
	Type        string      `json:"type"`
	Description string      `json:"description" is:"optional,empty"`
	Config      *userConfig `json:"config" is:"optional"`
}

type userConfig struct {
	_             struct{} `is:"strict"`
	RequireInput  *bool    `json:"requireInput" is:"optional"`
	PresetMessage string   `json:"presetMessage" is:"optional,empty"`
}

type flowFile struct {
	_         struct{}      `is:"strict"`
	Name      string        `json:"name"`
	Type      string        `json:"type"`
	Steps     []shape.Value `json:"steps" is:"minitems=1"`
	Cycles    shape.Value   `json:"cycles" is:"optional"`
	Observer  shape.Value   `json:"observer" is:"optional"`
	Signals   []string      `json:"breakCycleSignals" is:"optional"`
	Match     string        `json:"breakCycleSignalMatch" is:"default=substring,enum=substring|first_line|any_line|exact"`
	Separator *string       `json:"separator" is:"optional,empty"`
}

type stepFile struct {
	_           struct{} `is:"strict"`
	Agent       string   `json:"agent"`
	Description string   `json:"description" is:"optional,empty"`
}

var (
	strategyCodec = yamldoc.For[strategyFile]()
	agentCodec    = yamldoc.For[agentFile]()
	userCodec     = yamldoc.For[userFile]()
	flowCodec     = yamldoc.For[flowFile]()
	stepCodec     = yamldoc.For[stepFile]()
)

// strategyAgent is an agent of a strategy. Either llm or user is set.
type strategyAgent struct {
	key  string
	llm  *agentFile
	user *userFile
}

// reader reads a strategy and collects its issues.
type reader struct {
	issues []string
	fault  error // an error that is reported on its own, not in the list of issues
	agents []strategyAgent
}

// take collects the issues in the error of a part. It reports whether there are none.
func (r *reader) take(err error, path string) bool {
	if err == nil {
		return true
	}
	schema, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		r.refuse(path, "%s", err.Error())
		return false
	}
	for _, issue := range schema.Issues {
		where := strings.TrimSuffix(path+"."+issue.Field(), ".")
		r.refuse(strings.TrimPrefix(where, "."), "%s", issue.Message)
	}
	return false
}

func (r *reader) refuse(path, format string, args ...any) {
	r.issues = append(r.issues, strings.TrimPrefix(path+": "+fmt.Sprintf(format, args...), ": "))
}

// stop records the first error that is reported on its own.
func (r *reader) stop(format string, args ...any) {
	if r.fault == nil {
		r.fault = fail(codePrepare, format, args...)
	}
}

// err returns the collected issues, else the recorded error, else nil.
func (r *reader) err() error {
	if len(r.issues) > 0 {
		return fail(codePrepare, "Strategy validation failed:\n  - %s", strings.Join(r.issues, "\n  - "))
	}
	return r.fault
}

// readAgents reads the agents of a strategy.
func (r *reader) readAgents(agents *shape.Value) {
	if len(agents.Keys) > maxAgents {
		r.refuse("agents", "must have at most %d agents", maxAgents)
		return
	}
	for i, key := range agents.Keys {
		path, value := "agents."+key, &agents.Items[i]
		a := strategyAgent{key: key}
		if key == "" || len(key) > 200 {
			r.refuse(path, "the name of an agent must have 1 to 200 bytes")
		}
		switch kind := value.Get("type"); {
		case value.Kind == shape.Map && kind.Kind == shape.String && kind.Text == "user":
			user, err := userCodec.Bind(value)
			if r.take(err, path) {
				a.user = &user
			}
		case value.Kind == shape.Map && kind.Kind == shape.String && kind.Text != "llm":
			r.stop("Agent %q references unknown agent type %q. Built-in agents: [llm, user].", key, kind.Text)
		default:
			llm, err := agentCodec.Bind(value)
			if r.take(err, path) {
				a.llm = &llm
			}
		}
		r.agents = append(r.agents, a)
	}
}

func (r *reader) agent(key string) *strategyAgent {
	i := slices.IndexFunc(r.agents, func(a strategyAgent) bool { return a.key == key })
	if i < 0 {
		return nil
	}
	return &r.agents[i]
}

// keys returns the names of the agents, in the order of the file.
func (r *reader) keys() []string {
	keys := make([]string, len(r.agents))
	for i, a := range r.agents {
		keys[i] = a.key
	}
	return keys
}
