package workspace

// Where everything lies. Names are relative to the workspace, with "/".

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
	// ConversationsDir holds the conversations of the workspace but for its home.
	ConversationsDir = "inbox/conversations"
)

// Names of what is true on this machine only. All others are made of these.
const (
	LocalDir      = ".local"
	MachineFile   = LocalDir + "/machine.yaml"
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
	IndexFile     = LocalDir + "/index.sqlite"
	// AsideDir keeps what repairs took out of the way.
	AsideDir = LocalDir + "/set-aside"
	// StatementsFile is what providers billed.
	StatementsFile = BillingDir + "/reconciliation_statements.json"
	// AuditLog takes the policy decisions that have no run to go to.
	AuditLog = AuditDir + "/policy.jsonl"

	// ownerSuffix ends the names of files that name a process.
	ownerSuffix     = ".owner.json"
	writeLockFile   = LocksDir + "/workspace.write.lock"
	writeKernelLock = LocksDir + "/write.kernel"
)

// HeartbeatConfigFile, HeartbeatStateFile and HeartbeatLock are the files of the
// heartbeat; the lock is held while a tick goes on.
const (
	HeartbeatConfigFile = HeartbeatDir + "/config.yaml"
	HeartbeatStateFile  = HeartbeatDir + "/state.yaml"
	HeartbeatLock       = HeartbeatDir + "/tick.lock"
)

// LockFile is a lock that a process holds for as long as it does something.
func LockFile(name string) string { return path.Join(LocksDir, name+lockSuffix) }

// JobOwnerFile names the process that runs a job.
func JobOwnerFile(project, job string) string {
	return path.Join(JobOwnersDir, project, job+ownerSuffix)
}

// Movable reports whether a file or folder may be taken to another place or machine:
// not what belongs to this place, or to processes, or can be made again.
func Movable(name string) bool {
	if !strings.HasPrefix(name, LocalDir+"/") {
		return true
	}
	switch name {
	case LocksDir, LanesDir, JournalDir, SessionsDir, WorktreesDir, TempDir, HeartbeatLock:
		return false
	}
	return !strings.HasPrefix(name, IndexFile) && !strings.HasSuffix(name, ownerSuffix)
}

// RequiredDirs are the directories of every workspace, in the order in which their
// absence is reported.
func RequiredDirs() []string {
	return []string{
		"company", "company/migrations", "org", TeamsDir, AgentsDir, "work", ProjectsDir,
		"inbox", ReviewsDir, HelpRequestsDir, LocalDir,
	}
}

// RequiredFiles are the documents of every workspace, in the order in which their
// absence is reported.
func RequiredFiles() []string { return []string{CompanyFile, PolicyFile, MachineFile} }

// The places of documents that have an id.

// TeamFile is the document of a team.
func TeamFile(id string) string { return path.Join(TeamsDir, id, "team.yaml") }

// AgentDir is where an agent lies, with all that is its own.
func AgentDir(id string) string { return path.Join(AgentsDir, id) }

// AgentFile is the document of an agent.
func AgentFile(id string) string { return path.Join(AgentsDir, id, "agent.yaml") }

// JournalFile is what an agent wrote down for itself.
func JournalFile(id string) string { return path.Join(AgentsDir, id, "journal.md") }

// GuidanceFile is what an agent reads before it works.
func GuidanceFile(id string) string { return path.Join(AgentsDir, id, "AGENTS.md") }

// ContextIndexFile says where what an agent works on lies.
func ContextIndexFile(id string) string { return path.Join(AgentsDir, id, "context_index.md") }

// MistakesFile counts the mistakes of an agent.
func MistakesFile(id string) string { return path.Join(AgentsDir, id, "mistakes.yaml") }

// ProjectDir is where a project lies, with all that is its own.
func ProjectDir(id string) string { return path.Join(ProjectsDir, id) }

// ProjectFile is the document of a project.
func ProjectFile(id string) string { return path.Join(ProjectsDir, id, "project.yaml") }

// ReposFile names the repositories of a project, not where they lie on a machine.
func ReposFile(id string) string { return path.Join(ProjectsDir, id, "repos.yaml") }

// TasksDir is where the tasks of a project lie.
func TasksDir(id string) string { return path.Join(ProjectsDir, id, "tasks") }

// ArtifactsDir is where the artifacts of a project lie.
func ArtifactsDir(id string) string { return path.Join(ProjectsDir, id, "artifacts") }

// RunsDir is where the runs of a project lie.
func RunsDir(id string) string { return path.Join(ProjectsDir, id, "runs") }

// RunDir is where a run lies.
func RunDir(project, run string) string { return path.Join(ProjectsDir, project, "runs", run) }

// RunFile is the record of a run.
func RunFile(project, run string) string { return path.Join(RunDir(project, run), "run.yaml") }

// WorkflowsDir is where the templates of workflows lie, by domain.
const WorkflowsDir = "org/workflows"

// WorkflowFile is the template of a workflow.
func WorkflowFile(domain, slug string) string { return path.Join(WorkflowsDir, domain, slug+".yaml") }

// WorkflowRunFile is the record of a run of a workflow, beside that of the run.
func WorkflowRunFile(project, run string) string {
	return path.Join(RunDir(project, run), "workflow.yaml")
}

// LogFile is the event log of a run.
func LogFile(project, run string) string { return path.Join(RunDir(project, run), "events.jsonl") }

// ContextPackDir is where what an agent was given lies.
func ContextPackDir(project, id string) string {
	return path.Join(ProjectsDir, project, "context_packs", id)
}

// ProjectConversationDir is where a conversation of a project lies.
func ProjectConversationDir(project, id string) string {
	return path.Join(ProjectsDir, project, "conversations", id)
}

// CommentFile is where a comment lies.
func CommentFile(id string) string { return path.Join(CommentsDir, id+".yaml") }

// SessionFile is the record of a session.
func SessionFile(ref string) string { return path.Join(SessionsDir, EncodeRef(ref)+".yaml") }

// LogRun tells which run a log file belongs to.
func LogRun(name string) (project, run string, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 6 || parts[0] != "work" || parts[1] != "projects" || parts[3] != "runs" || parts[5] != "events.jsonl" {
		return "", "", false
	}
	return parts[2], parts[4], true
}

// EncodeRef turns a session_ref into a file name: percent-encoding of all bytes
// but A-Z a-z 0-9 - _ . ! ~ * ' ( ).
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

// DecodeRef is the inverse of EncodeRef; ok is false for names that it does not
// make.
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

// SharePacksDir is where the share packs of a project lie.
func SharePacksDir(project string) string { return path.Join(ProjectsDir, project, "share_packs") }

// SharePackDir is where a share pack lies.
func SharePackDir(project, id string) string { return path.Join(SharePacksDir(project), id) }

// SharePackFile is the manifest of a share pack.
func SharePackFile(project, id string) string {
	return path.Join(SharePackDir(project, id), "manifest.yaml")
}

// MemoryFile is the curated memory of a project.
func MemoryFile(project string) string { return path.Join(ProjectsDir, project, "memory.md") }
