// Package doc defines every document type of a workspace: its fields, its rules and its
// codec. Structs list their fields in the order of writing.
//
// Documents marked strict refuse unknown keys. In all others, readers ignore unknown keys
// and a rewrite preserves them (Codec.Rewrite).
package doc

import (
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// Version is the schema_version of documents that ac writes.
const Version = 1

// Company is company/company.yaml.
type Company struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=company"`
	ID            string `json:"id"`
	Name          string `json:"name"`
	CreatedAt     string `json:"created_at" is:"time"`
}

// Policy is company/policy.yaml.
type Policy struct {
	SchemaVersion      int                `json:"schema_version" is:"min=1"`
	Type               string             `json:"type" is:"enum=policy"`
	ID                 string             `json:"id"`
	VisibilityDefaults VisibilityDefaults `json:"visibility_defaults"`
}

// VisibilityDefaults are the default visibilities of agents' output.
type VisibilityDefaults struct {
	_                       struct{} `is:"strict"`
	WorkerJournal           string   `json:"worker_journal" is:"visibility"`
	WorkerMilestoneArtifact string   `json:"worker_milestone_artifact" is:"visibility"`
	ManagerProposal         string   `json:"manager_proposal" is:"visibility"`
	DirectorWorkplan        string   `json:"director_workplan" is:"visibility"`
}

// Machine is .local/machine.yaml: the configuration of this machine.
type Machine struct {
	SchemaVersion   int                        `json:"schema_version" is:"min=1"`
	Type            string                     `json:"type" is:"enum=machine"`
	RepoRoots       map[string]string          `json:"repo_roots"`
	ProviderBins    map[string]string          `json:"provider_bins"`
	ExecutionPolicy map[string]ExecutionPolicy `json:"provider_execution_policy" is:"optional"`
	Pricing         map[string]RateCard        `json:"provider_pricing_usd_per_1k_tokens" is:"optional"`
	// AgentCommands are the command lines of agents that run live sessions, by provider.
	AgentCommands map[string][]string `json:"agent_commands" is:"optional"`
	// RunDefaults are people's preferences for the runs of a project, by project id. No
	// launch applies them by itself.
	RunDefaults map[string]RunDefaults `json:"run_defaults" is:"optional"`
	// MCPServers are passed to agents at their start, by id. Their hidden values are in
	// secrets.yaml.
	MCPServers map[string]MCPServer `json:"mcp_servers" is:"optional"`
	// ModelProfiles are the models that runs can be started with, by name. ModelHosts lists
	// the hosts, with or without a port, that may be asked for their models.
	ModelProfiles       map[string]ModelProfile `json:"model_profiles" is:"optional"`
	DefaultModelProfile string                  `json:"default_model_profile" is:"optional"`
	ModelHosts          []string                `json:"model_hosts" is:"optional"`
	// ConsoleShell is the id of the shell that consoles start, "" for the user's.
	ConsoleShell string `json:"console_shell" is:"optional"`
}

// RunDefaults holds people's preferences for the runs of a project.
type RunDefaults struct {
	Mode Mode `json:"mode" is:"optional,enum=default|accept_edits|plan|full_auto"`
}

// ExecutionPolicy restricts the use of a provider.
type ExecutionPolicy struct {
	_                        struct{} `is:"strict"`
	Channel                  string   `json:"channel" is:"enum=subscription_cli|api"`
	RequireSubscriptionProof bool     `json:"require_subscription_proof"`
	ProofStrategy            string   `json:"proof_strategy" is:"optional"`
	AllowedBinPatterns       []string `json:"allowed_bin_patterns"`
}

// RateCard is the price of a provider in US dollars per thousand tokens.
type RateCard struct {
	_               struct{} `is:"strict"`
	Input           float64  `json:"input" is:"min=0"`
	Output          float64  `json:"output" is:"min=0"`
	CachedInput     *float64 `json:"cached_input" is:"optional,min=0"`
	ReasoningOutput *float64 `json:"reasoning_output" is:"optional,min=0"`
}

// Team is org/teams/<id>/team.yaml.
type Team struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=team"`
	ID            string `json:"id"`
	Name          string `json:"name"`
	Department
	CreatedAt string `json:"created_at" is:"time"`
}

// Department describes a team as a department. All fields are optional.
type Department struct {
	DepartmentKey   string `json:"department_key,omitempty" is:"optional"`
	DepartmentLabel string `json:"department_label,omitempty" is:"optional"`
	Charter         string `json:"charter,omitempty" is:"optional"`
}

// Agent is org/agents/<id>/agent.yaml.
type Agent struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=agent"`
	ID            string `json:"id"`
	Name          string `json:"name"`
	DisplayTitle  string `json:"display_title" is:"optional"`
	Avatar        string `json:"avatar" is:"optional"`
	ModelHint     string `json:"model_hint" is:"optional"`
	Role          string `json:"role" is:"enum=ceo|director|manager|worker"`
	Provider      string `json:"provider"`
	TeamID        string `json:"team_id" is:"optional,empty"`
	CreatedAt     string `json:"created_at" is:"time"`
	Launcher      Opaque `json:"launcher" is:"optional"`
}

// LauncherTexts returns a list of strings from an agent's launcher, such as the words of its
// command_argv_template. It ignores other items.
func (a Agent) LauncherTexts(name string) (list []string) {
	for _, item := range a.Launcher.Get(name).Items {
		if item.Kind == shape.String {
			list = append(list, item.Text)
		}
	}
	return list
}

// Project is work/projects/<id>/project.yaml.
type Project struct {
	SchemaVersion int     `json:"schema_version" is:"min=1"`
	Type          string  `json:"type" is:"enum=project"`
	ID            string  `json:"id"`
	Name          string  `json:"name"`
	Status        string  `json:"status" is:"enum=active|archived"`
	CreatedAt     string  `json:"created_at" is:"time"`
	Budget        *Budget `json:"budget" is:"optional"`
	// FileArtifacts restricts who may apply proposed files.
	FileArtifacts *FileArtifacts `json:"file_artifacts" is:"optional"`
}

// FileArtifacts is file_artifacts of a project. With approval required, files that an actor
// other than a human applies wait for a human's approval.
type FileArtifacts struct {
	Approval string `json:"approval" is:"optional,enum=required|none"`
}

// ApprovalRequired is the approval value of projects whose files wait for a human.
const ApprovalRequired = "required"

// Budget limits what a run, task or project may spend.
type Budget struct {
	_           struct{} `is:"strict"`
	SoftCostUSD *float64 `json:"soft_cost_usd,omitempty" is:"optional,min=0"`
	HardCostUSD *float64 `json:"hard_cost_usd,omitempty" is:"optional,min=0"`
	SoftTokens  *int64   `json:"soft_tokens,omitempty" is:"optional,min=0"`
	HardTokens  *int64   `json:"hard_tokens,omitempty" is:"optional,min=0"`
}

// Check requires hard limits to be at or above soft ones.
func (b *Budget) Check() (issues []fault.Issue) {
	if b.SoftCostUSD != nil && b.HardCostUSD != nil && *b.HardCostUSD < *b.SoftCostUSD {
		issues = append(issues, fault.Issue{Path: []any{"hard_cost_usd"}, Code: "custom", Message: "must be at least soft_cost_usd"})
	}
	if b.SoftTokens != nil && b.HardTokens != nil && *b.HardTokens < *b.SoftTokens {
		issues = append(issues, fault.Issue{Path: []any{"hard_tokens"}, Code: "custom", Message: "must be at least soft_tokens"})
	}
	return issues
}

// RepoLinks is work/projects/<id>/repos.yaml.
type RepoLinks struct {
	_             struct{}   `is:"strict"`
	SchemaVersion int        `json:"schema_version" is:"min=1"`
	Type          string     `json:"type" is:"enum=project_repo_links"`
	ProjectID     string     `json:"project_id"`
	UpdatedAt     string     `json:"updated_at" is:"time"`
	Repos         []RepoLink `json:"repos" is:"default="`
}

// RepoLink links a repository to a project.
type RepoLink struct {
	_      struct{} `is:"strict"`
	RepoID string   `json:"repo_id"`
	Label  string   `json:"label,omitempty" is:"optional"`
}

// Conversation is the conversation.yaml next to a messages.jsonl.
type Conversation struct {
	_             struct{}     `is:"strict"`
	SchemaVersion int          `json:"schema_version" is:"min=1"`
	Type          string       `json:"type" is:"enum=conversation"`
	ID            string       `json:"id"`
	Scope         string       `json:"scope" is:"enum=workspace|project"`
	ProjectID     string       `json:"project_id,omitempty" is:"optional"`
	Kind          string       `json:"kind" is:"enum=home|channel|dm"`
	Name          string       `json:"name"`
	Slug          string       `json:"slug"`
	Visibility    string       `json:"visibility" is:"visibility"`
	CreatedAt     string       `json:"created_at" is:"time"`
	CreatedBy     string       `json:"created_by"`
	AutoGenerated bool         `json:"auto_generated" is:"default=false"`
	Participants  Participants `json:"participants"`
	DMPeerAgentID string       `json:"dm_peer_agent_id,omitempty" is:"optional"`
}

// Participants are the members of a conversation.
type Participants struct {
	_        struct{} `is:"strict"`
	AgentIDs []string `json:"agent_ids" is:"default="`
	TeamIDs  []string `json:"team_ids" is:"default="`
}

// Check requires project_id in the scope project only, and a peer in direct
// messages only.
func (c *Conversation) Check() (issues []fault.Issue) {
	if (c.Scope == "project") != (c.ProjectID != "") {
		issues = append(issues, fault.Issue{Path: []any{"project_id"}, Code: "custom", Message: "is required with scope project and not allowed otherwise"})
	}
	if (c.Kind == "dm") != (c.DMPeerAgentID != "") {
		issues = append(issues, fault.Issue{Path: []any{"dm_peer_agent_id"}, Code: "custom", Message: "is required with kind dm and not allowed otherwise"})
	}
	return issues
}

// Migrations is company/migrations/applied.yaml. Reading it is lenient, and entries of other
// programs are preserved.
type Migrations struct {
	SchemaVersion int      `json:"schema_version" is:"min=1"`
	Type          string   `json:"type" is:"enum=workspace_migration_state"`
	Applied       []Opaque `json:"applied" is:"default="`
}

// The codecs of the documents above.
var (
	CompanyCodec      = yamldoc.For[Company]()
	PolicyCodec       = yamldoc.For[Policy]()
	MachineCodec      = yamldoc.For[Machine]()
	TeamCodec         = yamldoc.For[Team]()
	AgentCodec        = yamldoc.For[Agent]()
	ProjectCodec      = yamldoc.For[Project]()
	RepoLinksCodec    = yamldoc.For[RepoLinks]()
	ConversationCodec = yamldoc.For[Conversation]()
	MigrationsCodec   = yamldoc.For[Migrations]()
)
