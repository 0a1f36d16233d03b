package learning

// The context index: the section of an agent's guidance that lists where to find what it works
// on.

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// ContextIndex describes a refresh of the context index.
type ContextIndex struct {
	Agent         string
	ProjectID     string // "" for all projects
	MaxTasks      int
	MaxScopePaths int
}

// RefreshResult is the outcome of a refresh.
type RefreshResult struct {
	AgentID         string `json:"agent_id"`
	AgentsMDRelpath string `json:"agents_md_relpath"`
	AssignmentCount int    `json:"assignment_count"`
	ReferenceCount  int    `json:"reference_count"`
	Updated         bool   `json:"updated"`
	GeneratedAt     string `json:"generated_at"`
	ProjectID       string `json:"project_id,omitempty"`
	IndexRelpath    string `json:"context_index_relpath"`
}

// RefreshContext writes the context index into the guidance of an agent and into a file of its
// own. It creates missing guidance. It writes only what changes. Changes are durable on return.
func RefreshContext(ctx context.Context, w *workspace.Workspace, want ContextIndex) (RefreshResult, error) {
	result := RefreshResult{AgentID: want.Agent, AgentsMDRelpath: workspace.GuidanceFile(want.Agent), ProjectID: want.ProjectID, IndexRelpath: workspace.ContextIndexFile(want.Agent)}
	err := w.Update(ctx, func(u *workspace.Unit) error {
		if err := requireAgent(w, want.Agent); err != nil {
			return err
		}
		tasks, err := assignments(w, want)
		if err != nil {
			return err
		}
		lines := contextLines(w, want, tasks)
		guidance, missing, err := guidanceIn(u, want.Agent)
		if err != nil {
			return err
		}
		text := withSection(guidance, lines)
		result.AssignmentCount, result.ReferenceCount = len(tasks), len(lines)
		result.GeneratedAt = clock.Stamp(w.Env.Clock.Now())
		if result.Updated = missing || !bytes.Equal(text, guidance); result.Updated {
			if err := u.Write(result.AgentsMDRelpath, text, 0o644); err != nil {
				return err
			}
		}
		written, err := putContextIndex(u, want.Agent, lines)
		result.Updated = result.Updated || written
		return err
	})
	return result, err
}

// putContextIndex writes the context index as a file. It reports whether the file changed.
func putContextIndex(u *workspace.Unit, agent string, lines []string) (written bool, err error) {
	w, name := u.Workspace(), workspace.ContextIndexFile(agent)
	all := []string{"# Context Index - " + doc.OneLine(agent), "", "## References"}
	for _, line := range lines {
		all = append(all, line)
		if !strings.HasPrefix(line, "- agent_profile: ") {
			continue
		}
		for _, own := range [][2]string{{"agent_role", "role.md"}, {"agent_skills_index", "skills_index.md"}} {
			if file := path.Join(workspace.AgentDir(agent), own[1]); w.Exists(file) {
				all = append(all, fmt.Sprintf("- %s: `%s`", own[0], file))
			}
		}
	}
	text := []byte(strings.Join(all, "\n") + "\n")
	before, err := u.Read(name)
	if err == nil && bytes.Equal(before, text) {
		return false, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, err
	}
	return true, u.Write(name, text, 0o644)
}

// assignment is a task of an agent with its project.
type assignment struct {
	project string
	task    doc.Task
}

// assignments lists the tasks of an agent, newest first.
func assignments(w *workspace.Workspace, want ContextIndex) ([]assignment, error) {
	projects := []string{want.ProjectID}
	if want.ProjectID == "" {
		var err error
		if projects, err = workspace.Dirs(w.FS, workspace.ProjectsDir); err != nil {
			return nil, err
		}
	} else if _, err := w.Project(want.ProjectID); err != nil {
		return nil, err
	}
	var found []assignment
	for _, project := range projects {
		names, err := workspace.Files(w.FS, workspace.TasksDir(project), ".md")
		if err != nil {
			return nil, err
		}
		found = append(found, workspace.ReadEach(names, func(name string) (assignment, error) {
			return assigned(w, project, name, want.Agent)
		})...)
	}
	slices.SortStableFunc(found, func(a, b assignment) int {
		return cmp.Or(cmp.Compare(b.task.CreatedAt, a.task.CreatedAt), cmp.Compare(a.task.ID, b.task.ID))
	})
	return found[:min(len(found), want.MaxTasks)], nil
}

// assigned reads one task. A task of another agent is an error.
func assigned(w *workspace.Workspace, project, name, agent string) (assignment, error) {
	file := path.Join(workspace.TasksDir(project), name)
	task, err := workspace.LoadHead(w, doc.TaskCodec, file)
	if err == nil {
		err = workspace.CheckID(file, strings.TrimSuffix(name, ".md"), task.ID)
	}
	if err == nil && task.AssigneeAgentID != agent {
		err = fault.New(fault.NotFound, "%s is assigned to somebody else", file)
	}
	return assignment{project, task}, err
}

// contextList collects the lines of a context index, each once.
type contextList struct{ lines []string }

// add adds a line. It skips a line whose values contain line breaks.
func (l *contextList) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !strings.ContainsAny(line, "\n\r") && !slices.Contains(l.lines, line) {
		l.lines = append(l.lines, line)
	}
}

func contextLines(w *workspace.Workspace, want ContextIndex, tasks []assignment) []string {
	var l contextList
	for _, fixed := range []struct{ name, file string }{
		{"company_contract", workspace.CompanyFile}, {"org_visibility_policy", workspace.PolicyFile},
	} {
		if w.Exists(fixed.file) {
			l.add("- %s: `%s`", fixed.name, fixed.file)
		}
	}
	l.add("- agent_profile: `%s`", workspace.AgentFile(want.Agent))
	l.add("- agent_journal: `%s`", workspace.JournalFile(want.Agent))
	if w.Exists(workspace.MistakesFile(want.Agent)) {
		l.add("- mistakes_log: `%s`", workspace.MistakesFile(want.Agent))
	}
	if len(tasks) == 0 {
		l.add("- no_assigned_tasks: true")
	}
	left, cut := want.MaxScopePaths, false
	for _, a := range tasks {
		l.add("- assigned_task: `%s`", path.Join(workspace.TasksDir(a.project), a.task.ID+".md"))
		l.add("- project_memory: `%s`", workspace.MemoryFile(a.project))
		scope := a.task.Scope
		if scope == nil {
			continue
		}
		if scope.RepoID != "" {
			l.add("- task_scope_repo_id: `%s` (task: `%s`)", scope.RepoID, a.task.ID)
		}
		if scope.WorkdirRel != "" {
			l.add("- task_scope_workdir: `%s` (task: `%s`)", scope.WorkdirRel, a.task.ID)
		}
		for _, p := range scope.Paths {
			line := fmt.Sprintf("- task_scope_path: `%s` (task: `%s`)", p, a.task.ID)
			switch {
			case strings.ContainsAny(line, "\n\r") || slices.Contains(l.lines, line):
			case left == 0:
				cut = true
			default:
				l.add("%s", line)
				left--
			}
		}
	}
	if cut {
		l.add("- task_scope_paths_truncated: true (max_scope_paths=%d)", want.MaxScopePaths)
	}
	return l.lines
}
