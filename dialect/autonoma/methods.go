package autonoma

// The methods of the protocol, and their params.

import (
	"context"
	"reflect"
	"strings"

	"ac/internal/fault"
	"ac/internal/param"
	"ac/internal/shape"
)

// access is how a method is ordered among a connection's requests.
type access int

// Reads and writes start after all earlier writes have ended or released the order. Reads run
// concurrently.
const (
	readAccess access = iota
	writeAccess
)

type method struct {
	access access
	call   func(ctx context.Context, c *call) (any, error)
}

// on makes a method from its handler. The tags of the params struct define how to decode them.
func on[P any](a access, handler func(ctx context.Context, c *call, p P) (any, error)) method {
	decoder := param.NewDecoder(reflect.TypeFor[P]())
	return method{a, func(ctx context.Context, c *call) (any, error) {
		var p P
		if err := decoder.Decode(c.params, &p); err != nil {
			return nil, err
		}
		return handler(ctx, c, p)
	}}
}

func methods() map[string]method {
	return map[string]method{
		"agents.list":        on(readAccess, listAgents),
		"agents.invoke":      on(writeAccess, invoke),
		"execution.status":   on(readAccess, executionStatus),
		"background.list":    on(readAccess, listTasks),
		"background.launch":  on(writeAccess, launch),
		"background.cancel":  on(writeAccess, cancelTask),
		"background.output":  on(readAccess, taskOutput),
		"artifacts.preview":  on(readAccess, previewArtifacts),
		"artifacts.apply":    on(writeAccess, applyArtifacts),
		"code.explain":       on(writeAccess, explainCode),
		"code.refactor":      on(writeAccess, refactorCode),
		"code.generateTests": on(writeAccess, generateTests),
		"code.review":        on(writeAccess, reviewCode),
		"workflows.list":     on(readAccess, listWorkflows),
		"workflows.run":      on(writeAccess, runWorkflow),
		"workflows.status":   on(readAccess, workflowStatus),
		"workflows.cancel":   on(writeAccess, cancelWorkflow),
		"fleet.list":         on(readAccess, listFleet),
		"fleet.status":       on(readAccess, fleetStatus),
		"fleet.command":      on(writeAccess, fleetCommand),
		"scan.techDebt":      on(writeAccess, scanTechDebt),
		"scan.modernize":     on(writeAccess, scanModernize),
		"scan.status":        on(readAccess, scanStatus),
		"feedback.submit":    on(writeAccess, submitFeedback),
	}
}

// text is a text param that must not be blank.
type text struct{ name, value string }

// notBlank returns issues for blank texts. It ignores empty ones, which the tags handle.
func notBlank(texts ...text) (issues []fault.Issue) {
	for _, t := range texts {
		if t.value != "" && strings.TrimSpace(t.value) == "" {
			issues = append(issues, fault.Issue{Path: []any{t.name}, Code: "custom", Message: "must not be empty"})
		}
	}
	return issues
}

type noParams struct{}

type invokeParams struct {
	AgentType string      `json:"agentType" is:"maxbytes=512"`
	Task      string      `json:"task" is:"maxbytes=65536"`
	Context   shape.Value `json:"context" is:"optional"`
}

// CheckFields refuses blank texts.
func (p *invokeParams) CheckFields() []fault.Issue {
	return notBlank(text{"agentType", p.AgentType}, text{"task", p.Task})
}

type launchParams struct {
	AgentType string `json:"agentType" is:"maxbytes=512"`
	Task      string `json:"task" is:"maxbytes=65536"`
}

// CheckFields refuses blank texts.
func (p *launchParams) CheckFields() []fault.Issue {
	return notBlank(text{"agentType", p.AgentType}, text{"task", p.Task})
}

type executionParams struct {
	ExecutionID string `json:"executionId" is:"maxbytes=512"`
}

type taskParams struct {
	TaskID string `json:"taskId" is:"maxbytes=512"`
}

type artifactsParams struct {
	Artifacts shape.Value `json:"artifacts" is:"optional"`
}

type codeParams struct {
	Code     string `json:"code" is:"maxbytes=262144"`
	Language string `json:"language" is:"optional,empty,maxbytes=512"`
	FilePath string `json:"filePath" is:"optional,empty,maxbytes=4096"`
}

// CheckFields refuses blank code.
func (p *codeParams) CheckFields() []fault.Issue { return notBlank(text{"code", p.Code}) }

type refactorParams struct {
	codeParams
	Instructions string `json:"instructions" is:"optional,empty,maxbytes=65536"`
}

type reviewParams struct {
	codeParams
	ReviewType string `json:"reviewType" is:"default=all,enum=security|performance|quality|all"`
}

type listWorkflowsParams struct {
	Domain string `json:"domain" is:"optional,empty,maxbytes=512"`
}

type runWorkflowParams struct {
	WorkflowID string            `json:"workflowId" is:"maxbytes=512"`
	Inputs     map[string]string `json:"inputs" is:"optional,empty"`
	Input      string            `json:"input" is:"optional,empty,maxbytes=262144"`
	Priority   string            `json:"priority" is:"default=normal,enum=low|normal|high"`
}

type listFleetParams struct {
	Capability string `json:"capability" is:"optional,empty,maxbytes=512"`
}

type fleetStatusParams struct {
	AgentID string `json:"agentId" is:"optional,empty,maxbytes=512"`
}

type fleetCommandParams struct {
	AgentID    string `json:"agentId" is:"optional,empty,maxbytes=512"`
	Target     string `json:"target" is:"optional,empty,maxbytes=512"`
	Command    string `json:"command" is:"maxbytes=65536"`
	AgentType  string `json:"agentType" is:"optional,empty,maxbytes=512"`
	Capability string `json:"capability" is:"optional,empty,maxbytes=512"`
	// Params are passed to the agent as context.
	Params shape.Value `json:"params" is:"optional"`
}

// CheckFields refuses a blank command.
func (p *fleetCommandParams) CheckFields() []fault.Issue {
	return notBlank(text{"command", p.Command})
}

type scanParams struct {
	RepositoryURL string `json:"repository_url" is:"maxbytes=4096"`
}

type scanStatusParams struct {
	JobID string `json:"job_id" is:"maxbytes=512"`
}

type feedbackParams struct {
	LogID  string `json:"conversation_log_id" is:"maxbytes=512"`
	Signal string `json:"signal" is:"enum=accept|reject"`
	Reason string `json:"reason" is:"optional,empty,maxbytes=8000"`
}
