package doc

// Workflow templates: flows of agents' tasks, as people write them. A template allows unknown
// keys at the top level, and none in its nodes. workflowcheck.go checks what tags cannot
// express.

import (
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// WorkflowTemplate is org/workflows/<domain>/<slug>.yaml.
type WorkflowTemplate struct {
	SchemaVersion   int             `json:"schema_version" is:"min=1,max=1"`
	Type            string          `json:"type" is:"enum=workflow"`
	ID              string          `json:"id"`
	Name            string          `json:"name" is:"maxbytes=200"`
	Description     string          `json:"description" is:"optional,empty"`
	Inputs          []WorkflowInput `json:"inputs" is:"optional"`
	PermissionLevel string          `json:"permission_level" is:"default=read-only,enum=read-only|patch|run-commands"`
	Place           *JobPlace       `json:"place" is:"optional"`
	MaxJobs         int             `json:"max_jobs" is:"default=200,min=1,max=1000"`
	Budget          *Budget         `json:"budget" is:"optional"` // the default for runs without one
	Flow            shape.Value     `json:"flow"`
	// Root is the parsed flow. Nodes lists all its nodes in document order.
	Root  *Node   `json:"-"`
	Nodes []*Node `json:"-"`
}

// WorkflowInput is a named text that a workflow's run receives.
type WorkflowInput struct {
	_           struct{} `is:"strict"`
	Name        string   `json:"name" is:"maxbytes=200"`
	Required    bool     `json:"required,omitempty" is:"optional"`
	Description string   `json:"description,omitempty" is:"optional,empty"`
}

// Kinds of nodes.
const (
	NodeTask         = "task"
	NodeInput        = "input"
	NodeSequence     = "sequence"
	NodeParallel     = "parallel"
	NodeCycle        = "cycle"
	NodeMakerChecker = "maker_checker"
	NodeSupervisor   = "supervisor"
)

// Node is one node of a flow. Which fields are set depends on its kind.
type Node struct {
	Kind string
	ID   string // "" for none
	Name string
	Path string // 0 for the root, 0.1 for its second child
	// Steps are the children of a sequence, a parallel or a cycle; the maker and the checker;
	// or the supervisor and its workers. The observer of a cycle is not among them.
	Steps       []*Node
	Task        *TaskNode
	Ask         *InputNode
	Separator   string
	Concurrency int // 0 for any
	Cycles      int // 0 for unbounded
	Until       string
	Observer    *Node
	BreakOn     *BreakOn
	Rounds      int
}

// Key identifies a node: its id, else its path.
func (n *Node) Key() string {
	if n.ID != "" {
		return n.ID
	}
	return n.Path
}

// Label returns a node's name for people, else its key.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Key()
}

// TaskNode is one job. Remember is the key of its memory, "" for none. Parsing turns true
// into a key made from the node's own.
type TaskNode struct {
	Agent           AgentChoice
	Goal            string
	Answer          string
	PermissionLevel string
	Model           string
	Instructions    string
	Remember        string
	Attempts        int
	TimeoutMS       int64
	Interactive     bool
	Mode            Mode
	Rules           []PolicyRule
	Continue        bool // continue the flow if the task fails
}

// AgentChoice selects a task's agent: the first one by name that matches every set field.
type AgentChoice struct {
	_        struct{} `is:"strict"`
	AgentID  string   `json:"agent_id,omitempty" is:"optional"`
	Name     string   `json:"name,omitempty" is:"optional"`
	TeamID   string   `json:"team_id,omitempty" is:"optional"`
	Role     string   `json:"role,omitempty" is:"optional"`
	Provider string   `json:"provider,omitempty" is:"optional"`
}

// Fits reports whether an agent matches every set field.
func (c AgentChoice) Fits(a Agent) bool {
	for _, want := range [][2]string{{c.AgentID, a.ID}, {c.Name, a.Name}, {c.TeamID, a.TeamID}, {c.Role, a.Role}, {c.Provider, a.Provider}} {
		if want[0] != "" && want[0] != want[1] {
			return false
		}
	}
	return c.AgentID != "" || a.Role == "worker" || a.Role == "manager"
}

// InputNode asks a person for a text.
type InputNode struct {
	Prompt      string
	SkipIfGiven bool
	Ask         bool
	Text        string
}

// BreakOn ends a cycle on certain outputs of its observer.
type BreakOn struct {
	_       struct{} `is:"strict"`
	Signals []string `json:"signals" is:"minitems=1"`
	Match   string   `json:"match" is:"default=substring,enum=substring|exact|first_line|any_line"`
}

// The fields of nodes in documents, by kind.
type (
	taskFields struct {
		_               struct{}     `is:"strict"`
		Kind            string       `json:"kind"`
		ID              string       `json:"id" is:"optional"`
		Name            string       `json:"name" is:"optional,maxbytes=200"`
		Agent           AgentChoice  `json:"agent"`
		Goal            string       `json:"goal" is:"optional,maxbytes=262144"`
		Answer          string       `json:"answer" is:"optional,enum=prose|text|files|review|verdict|plan"`
		PermissionLevel string       `json:"permission_level" is:"optional,enum=read-only|patch|run-commands"`
		Model           string       `json:"model" is:"optional"`
		Instructions    string       `json:"instructions" is:"optional,empty,maxbytes=32768"`
		Remember        shape.Value  `json:"remember" is:"optional"`
		Attempts        int          `json:"attempts" is:"optional,min=1,max=3"`
		TimeoutMS       int64        `json:"timeout_ms" is:"optional,min=1000,max=7200000"`
		Interactive     bool         `json:"interactive" is:"optional"`
		Mode            Mode         `json:"mode" is:"optional,enum=default|accept_edits|plan|full_auto"`
		Rules           []PolicyRule `json:"rules" is:"optional"`
		OnFailure       string       `json:"on_failure" is:"default=fail,enum=fail|continue"`
	}
	inputFields struct {
		_           struct{} `is:"strict"`
		Kind        string   `json:"kind"`
		ID          string   `json:"id" is:"optional"`
		Name        string   `json:"name" is:"optional,maxbytes=200"`
		Prompt      string   `json:"prompt" is:"optional,empty,maxbytes=16384"`
		SkipIfGiven bool     `json:"skip_if_given" is:"default=true"`
		Ask         bool     `json:"ask" is:"default=true"`
		Text        string   `json:"text" is:"optional,empty,maxbytes=262144"`
	}
	sequenceFields struct {
		_     struct{}      `is:"strict"`
		Kind  string        `json:"kind"`
		ID    string        `json:"id" is:"optional"`
		Name  string        `json:"name" is:"optional,maxbytes=200"`
		Steps []shape.Value `json:"steps" is:"minitems=1"`
	}
	parallelFields struct {
		_            struct{}      `is:"strict"`
		Kind         string        `json:"kind"`
		ID           string        `json:"id" is:"optional"`
		Name         string        `json:"name" is:"optional,maxbytes=200"`
		Steps        []shape.Value `json:"steps" is:"minitems=1"`
		Separator    *string       `json:"separator" is:"optional,empty"`
		SharedWrites bool          `json:"shared_writes" is:"optional"`
		Concurrency  int           `json:"concurrency" is:"optional,min=1,max=16"`
	}
	cycleFields struct {
		_        struct{}      `is:"strict"`
		Kind     string        `json:"kind"`
		ID       string        `json:"id" is:"optional"`
		Name     string        `json:"name" is:"optional,maxbytes=200"`
		Steps    []shape.Value `json:"steps" is:"minitems=1"`
		Cycles   shape.Value   `json:"cycles" is:"optional"`
		Until    string        `json:"until" is:"optional"`
		Observer shape.Value   `json:"observer" is:"optional"`
		BreakOn  *BreakOn      `json:"break_on" is:"optional"`
	}
	makerCheckerFields struct {
		_       struct{}    `is:"strict"`
		Kind    string      `json:"kind"`
		ID      string      `json:"id" is:"optional"`
		Name    string      `json:"name" is:"optional,maxbytes=200"`
		Maker   shape.Value `json:"maker"`
		Checker shape.Value `json:"checker"`
		Rounds  int         `json:"rounds" is:"default=3,min=1,max=10"`
	}
	supervisorFields struct {
		_          struct{}      `is:"strict"`
		Kind       string        `json:"kind"`
		ID         string        `json:"id" is:"optional"`
		Name       string        `json:"name" is:"optional,maxbytes=200"`
		Supervisor shape.Value   `json:"supervisor"`
		Workers    []shape.Value `json:"workers" is:"minitems=1"`
		Rounds     int           `json:"rounds" is:"default=6,min=1,max=20"`
	}
)

var (
	templateCodec     = yamldoc.For[WorkflowTemplate]()
	taskCodec         = yamldoc.For[taskFields]()
	inputCodec        = yamldoc.For[inputFields]()
	sequenceCodec     = yamldoc.For[sequenceFields]()
	parallelCodec     = yamldoc.For[parallelFields]()
	cycleCodec        = yamldoc.For[cycleFields]()
	makerCheckerCodec = yamldoc.For[makerCheckerFields]()
	supervisorCodec   = yamldoc.For[supervisorFields]()
)

// Pattern names the flow's orchestration pattern.
func (t *WorkflowTemplate) Pattern() string {
	switch t.Root.Kind {
	case NodeSequence:
		return "sequential"
	case NodeMakerChecker:
		return "group_chat_maker_checker"
	}
	return t.Root.Kind
}

// StepCount returns the number of tasks and inputs in a flow.
func (t *WorkflowTemplate) StepCount() (n int) {
	for _, node := range t.Nodes {
		if node.Task != nil || node.Ask != nil {
			n++
		}
	}
	return n
}

// Level returns the permission level of a task in the template.
func (t *WorkflowTemplate) Level(task *TaskNode) string {
	if task.PermissionLevel != "" {
		return task.PermissionLevel
	}
	return t.PermissionLevel
}

// Agents returns the agents of the tasks, by id if given, else by name. Each appears once, in
// node order.
func (t *WorkflowTemplate) Agents() []string {
	agents := []string{}
	seen := map[string]bool{"": true}
	for _, node := range t.Nodes {
		if node.Task == nil {
			continue
		}
		name := node.Task.Agent.AgentID
		if name == "" {
			name = node.Task.Agent.Name
		}
		if !seen[name] {
			seen[name] = true
			agents = append(agents, name)
		}
	}
	return agents
}
