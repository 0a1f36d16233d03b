package workspace

// The layout of a workspace. Paths are relative to its directory and use "/".

import (
	"fmt"
	"path"
	"strings"
)

// Fixed names.
const (
	CompanyFile     = "company/company.yaml"
	PolicyFile      = "company/policy.yaml"
	TeamsDir        = "org/teams"
	AgentsDir       = "org/agents"
	ProjectsDir     = "work/projects"
	ReviewsDir      = "inbox/reviews"
	HelpRequestsDir = "inbox/help_requests"
	CommentsDir     = "inbox/comments"
	HomeDir         = "inbox/workspace_home"
	// ConversationsDir holds the conversations of the workspace, except its
	// home.
	ConversationsDir = "inbox/conversations"
)

// Paths under .local, which belong to one machine. All other paths there derive from these.
const (
	LocalDir      = ".local"
	MachineFile   = LocalDir + "/machine.yaml"
	SecretsFile   = LocalDir + "/secrets.yaml"
	SessionsDir   = LocalDir + "/sessions"
	LocksDir      = LocalDir + "/locks"
	LanesDir      = LocalDir + "/lanes"
	JobOwnersDir  = LocalDir + "/jobs"
	HeartbeatDir  = LocalDir + "/heartbeat"
	WorktreesDir  = LocalDir + "/worktrees"
	MigrationsDir = LocalDir + "/migrations"
	TempDir       = LocalDir + "/tmp"
	JournalDir    = LocalDir + "/journal"
	AuditDir      = LocalDir + "/audit"
	BillingDir    = LocalDir + "/billing"
	MCPDir        = LocalDir + "/mcp"
	StartsDir     = LocalDir + "/starts"
	IndexFile     = LocalDir + "/index.sqlite"
	SearchFile    = LocalDir + "/search.sqlite"
	// HubDir holds the hub's state when sessions run on other machines.
	HubDir = LocalDir + "/hub"
	// QuarantineDir keeps files that repairs moved out of the way.
	QuarantineDir = LocalDir + "/set-aside"
	// StatementsFile holds the recorded statements of providers' bills.
	StatementsFile = BillingDir + "/reconciliation_statements.json"
	// AuditLog holds the policy decisions that belong to no run.
	AuditLog = AuditDir + "/policy.jsonl"
	// TerminalsLog records which consoles were opened and how they ended.
	TerminalsLog = AuditDir + "/terminals.jsonl"
	// FilesLog records applied files that came from no run.
	FilesLog = AuditDir + "/files.jsonl"
	// CheckpointsDir holds checkpoints: the earlier content of applied files.
	CheckpointsDir = LocalDir + "/checkpoints"
	// DialectsDir holds the runtime files of servers that speak other programs' protocols.
	DialectsDir = LocalDir + "/dialects"

	// NeedsDir records dismissed needs: DismissedFile has one a line.
	NeedsDir      = LocalDir + "/needs"
	DismissedFile = NeedsDir + "/dismissed.jsonl"

	// ownerSuffix ends the names of files that identify a process.
	ownerSuffix     = ".owner.json"
	writeLockFile   = LocksDir + "/workspace.write.lock"
	writeKernelLock = LocksDir + "/write.kernel"
)

// HeartbeatConfigFile, HeartbeatStateFile and HeartbeatLock are the files of the heartbeat. A
// tick holds the lock.
const (
	HeartbeatConfigFile = HeartbeatDir + "/config.yaml"
	HeartbeatStateFile  = HeartbeatDir + "/state.yaml"
	HeartbeatLock       = HeartbeatDir + "/tick.lock"
)

// LockFile returns the lock that a process holds while it works on something.
func LockFile(name string) string { return path.Join(LocksDir, name+lockSuffix) }

// JobOwnerFile returns the file that identifies the process running a job.
func JobOwnerFile(project, job string) string {
	return path.Join(JobOwnersDir, project, job+ownerSuffix)
}

// IsExportable reports whether a file or folder belongs in an export. It excludes secrets, files
// bound to this path or to processes, and files that can be rebuilt.
func IsExportable(name string) bool {
	if !strings.HasPrefix(name, LocalDir+"/") {
		return true
	}
	switch name {
	case LocksDir, LanesDir, JournalDir, SessionsDir, StartsDir, WorktreesDir, TempDir, CheckpointsDir, NeedsDir, DialectsDir, HubDir, SecretsFile, HeartbeatLock:
		return false
	}
	return !strings.HasPrefix(name, IndexFile) && !strings.HasPrefix(name, SearchFile) && !strings.HasSuffix(name, ownerSuffix)
}

// RequiredDirs returns the directories of every workspace, in the order in which validation
// reports missing ones.
func RequiredDirs() []string {
	return []string{
		"company", "company/migrations", "org", TeamsDir, AgentsDir, "work", ProjectsDir,
		"inbox", ReviewsDir, HelpRequestsDir, LocalDir,
	}
}

// RequiredFiles returns the documents of every workspace, in the order in which validation
// reports missing ones.
func RequiredFiles() []string { return []string{CompanyFile, PolicyFile, MachineFile} }

// Paths of documents and directories, by id.

// TeamFile is the document of a team.
func TeamFile(id string) string { return path.Join(TeamsDir, id, "team.yaml") }

// AgentDir is the directory of an agent.
func AgentDir(id string) string { return path.Join(AgentsDir, id) }

// AgentFile is the document of an agent.
func AgentFile(id string) string { return path.Join(AgentsDir, id, "agent.yaml") }

// JournalFile is the journal of an agent.
func JournalFile(id string) string { return path.Join(AgentsDir, id, "journal.md") }

// GuidanceFile is the guidance of an agent, which it reads before it works.
func GuidanceFile(id string) string { return path.Join(AgentsDir, id, "AGENTS.md") }

// ContextIndexFile is the index of the documents that an agent works on.
func ContextIndexFile(id string) string { return path.Join(AgentsDir, id, "context_index.md") }

// MistakesFile is the log of an agent's mistakes.
func MistakesFile(id string) string { return path.Join(AgentsDir, id, "mistakes.yaml") }

// ProjectDir is the directory of a project.
func ProjectDir(id string) string { return path.Join(ProjectsDir, id) }

// ProjectFile is the document of a project.
func ProjectFile(id string) string { return path.Join(ProjectsDir, id, "project.yaml") }

// ReposFile lists the repositories of a project, not their paths on a machine.
func ReposFile(id string) string { return path.Join(ProjectsDir, id, "repos.yaml") }

// TasksDir is the directory of a project's tasks.
func TasksDir(id string) string { return path.Join(ProjectsDir, id, "tasks") }

// ArtifactsDir is the directory of a project's artifacts.
func ArtifactsDir(id string) string { return path.Join(ProjectsDir, id, "artifacts") }

// JobDir is the directory of a job.
func JobDir(project, id string) string { return path.Join(ProjectsDir, project, "jobs", id) }

// CheckpointDir is the directory of a checkpoint.
func CheckpointDir(project, id string) string { return path.Join(CheckpointsDir, project, id) }

// RunsDir is the directory of a project's runs.
func RunsDir(id string) string { return path.Join(ProjectsDir, id, "runs") }

// RunDir is the directory of a run.
func RunDir(project, run string) string { return path.Join(ProjectsDir, project, "runs", run) }

// RunFile is the record of a run.
func RunFile(project, run string) string { return path.Join(RunDir(project, run), "run.yaml") }

// WorkflowsDir holds the workflow templates, by domain.
const WorkflowsDir = "org/workflows"

// WorkflowFile is the template of a workflow.
func WorkflowFile(domain, slug string) string { return path.Join(WorkflowsDir, domain, slug+".yaml") }

// WorkflowRunFile is the record of a workflow's run, beside the record of the run itself.
func WorkflowRunFile(project, run string) string {
	return path.Join(RunDir(project, run), "workflow.yaml")
}

// LogFile is the event log of a run.
func LogFile(project, run string) string { return path.Join(RunDir(project, run), "events.jsonl") }

// ContextPackDir is the directory of a context pack.
func ContextPackDir(project, id string) string {
	return path.Join(ProjectsDir, project, "context_packs", id)
}

// ProjectConversationDir is the directory of a conversation of a project.
func ProjectConversationDir(project, id string) string {
	return path.Join(ProjectsDir, project, "conversations", id)
}

// CommentFile is the document of a comment.
func CommentFile(id string) string { return path.Join(CommentsDir, id+".yaml") }

// ReadPositionsFile records which messages an agent has read.
func ReadPositionsFile(agent string) string { return path.Join(MCPDir, agent+".json") }

// SessionFile is the record of a session.
func SessionFile(ref string) string { return path.Join(SessionsDir, EncodeRef(ref)+".yaml") }

// LogRun returns the run that a log file belongs to.
func LogRun(name string) (project, run string, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 6 || parts[0] != "work" || parts[1] != "projects" || parts[3] != "runs" || parts[5] != "events.jsonl" {
		return "", "", false
	}
	return parts[2], parts[4], true
}

// EncodeRef turns a session_ref into a file name. It percent-encodes every byte except A-Z
// a-z 0-9 - _ . ! ~ * ' ( ).
func EncodeRef(ref string) string {
	var b strings.Builder
	for i := range len(ref) {
		if c := ref[i]; isRefByte(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// DecodeRef is the inverse of EncodeRef. ok is false for a name that EncodeRef cannot
// produce.
func DecodeRef(name string) (ref string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		var c byte
		if i+2 >= len(name) {
			return "", false
		}
		if _, err := fmt.Sscanf(name[i+1:i+3], "%02X", &c); err != nil {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), EncodeRef(b.String()) == name
}

func isRefByte(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_.!~*'()", c) >= 0
}

// SharePacksDir is the directory of a project's share packs.
func SharePacksDir(project string) string { return path.Join(ProjectsDir, project, "share_packs") }

// SharePackDir is the directory of a share pack.
func SharePackDir(project, id string) string { return path.Join(SharePacksDir(project), id) }

// SharePackFile is the manifest of a share pack.
func SharePackFile(project, id string) string {
	return path.Join(SharePackDir(project, id), "manifest.yaml")
}

// MemoryFile is the curated memory of a project.
func MemoryFile(project string) string { return path.Join(ProjectsDir, project, "memory.md") }

// IsCompanyPath reports whether a path belongs to the company. Files that people keep beside it do not,
// nor do the worktrees of runs.
func IsCompanyPath(name string) bool {
	if name == WorktreesDir || strings.HasPrefix(name, WorktreesDir+"/") {
		return false
	}
	first, _, _ := strings.Cut(name, "/")
	switch first {
	case "company", "org", "work", "inbox", LocalDir:
		return true
	}
	return false
}
