package workflow

// Templates in a workspace: org/workflows/<domain>/<slug>.yaml. Each call reads them through a
// cache, which stays valid while a file is unchanged.

import (
	"context"
	"errors"
	"path"
	"strings"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// StoredTemplate is a template, with its document as stored.
type StoredTemplate struct {
	doc.WorkflowTemplate
	Domain string
	Whole  shape.Value
}

// Problem is a file that is not a valid template.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

func read(w *workspace.Workspace, domain, slug string) (StoredTemplate, error) {
	file := workspace.WorkflowFile(domain, slug)
	found, err := workspace.LoadWith(w, file, func(text []byte) (found StoredTemplate, err error) {
		if found.Whole, err = yamldoc.Parse(text); err != nil {
			return found, fault.New(fault.InvalidFile, "%s: %w", file, err)
		}
		found.WorkflowTemplate, err = doc.BindWorkflow(&found.Whole)
		if err != nil {
			return found, fault.New(fault.InvalidFile, "%s: %w", file, err)
		}
		return found, nil
	})
	if err != nil {
		return found, err
	}
	found.Domain = domain
	return found, workspace.CheckID(file, domain+":"+slug, found.ID)
}

// List returns the templates by id, of one domain or of all, and the files that are not valid
// templates.
func List(w *workspace.Workspace, domain string) (list []StoredTemplate, problems []Problem, err error) {
	domains, err := workspace.Dirs(w.FS, workspace.WorkflowsDir)
	if err != nil {
		return nil, nil, err
	}
	list, problems = []StoredTemplate{}, []Problem{}
	for _, d := range domains {
		if domain != "" && d != domain {
			continue
		}
		files, err := workspace.Files(w.FS, path.Join(workspace.WorkflowsDir, d), ".yaml")
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			found, err := read(w, d, strings.TrimSuffix(file, ".yaml"))
			if err != nil {
				problems = append(problems, Problem{path.Join(workspace.WorkflowsDir, d, file), err.Error()})
				continue
			}
			list = append(list, found)
		}
	}
	return list, problems, nil
}

// Get reads a template by its id. It returns fault.NotFound if there is none, and fault.InvalidFile
// if it is invalid.
func Get(w *workspace.Workspace, id string) (StoredTemplate, error) {
	domain, slug, ok := doc.SplitWorkflowID(id)
	if !ok || !w.Exists(workspace.WorkflowFile(domain, slug)) {
		return StoredTemplate{}, fault.New(fault.NotFound, "workflow %s does not exist", id)
	}
	return read(w, domain, slug)
}

// Put writes a template and returns its id and its file. The file is durable on return.
func Put(ctx context.Context, w *workspace.Workspace, template shape.Value) (id, file string, err error) {
	t, err := doc.BindWorkflow(&template)
	if err != nil {
		return "", "", err
	}
	domain, slug, _ := doc.SplitWorkflowID(t.ID)
	file = workspace.WorkflowFile(domain, slug)
	text, err := yamldoc.EncodeValue(template)
	if err != nil {
		return "", "", err
	}
	return t.ID, file, w.Update(ctx, func(u *workspace.Unit) error { return u.Write(file, text, 0o644) })
}

// Choice is the agent that a task would get now.
type Choice struct {
	Name      string `json:"name"`
	AgentID   string `json:"agent_id"`
	Provider  string `json:"provider"`
	Model     string `json:"model,omitempty"`
	Available bool   `json:"available"`
}

// Choices returns the agents of a template's tasks, in the order of the nodes. If no agent is
// available, the choice has the names in the template.
func (f Flows) Choices(t *doc.WorkflowTemplate) ([]Choice, error) {
	agents, err := f.Workspace.Agents()
	if err != nil {
		return nil, err
	}
	list := []Choice{}
	for _, n := range t.Nodes {
		if n.Task == nil {
			continue
		}
		c := Choice{Name: n.Task.Agent.Name, AgentID: n.Task.Agent.AgentID, Provider: n.Task.Agent.Provider, Model: n.Task.Model}
		if agent, ok := chooseAgent(agents, n.Task.Agent); ok {
			c = Choice{agent.Name, agent.ID, agent.Provider, n.Task.Model, true}
			if c.Model == "" {
				c.Model = agent.ModelHint
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// ParamError returns the error for a template that a caller sent, with the path of each issue prefixed
// by the param's name.
func ParamError(err error, param string) error {
	schema, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		return err
	}
	issues := make([]fault.Issue, len(schema.Issues))
	for i, issue := range schema.Issues {
		issue.Path = append([]any{param}, issue.Path...)
		issues[i] = issue
	}
	return fault.Invalid(issues...)
}
