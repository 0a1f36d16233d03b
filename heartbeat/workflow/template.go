package workflow

// Templates in a workspace: org/workflows/<domain>/<slug>.yaml. They are read at each
// call; what was read before is believed while its file is the same.

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

// Found is a template, with its document as it is written.
type Found struct {
	doc.WorkflowTemplate
	Domain string
	Whole  shape.Value
}

// Problem is a file that is no template.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

func read(w *workspace.Workspace, domain, slug string) (Found, error) {
	file := workspace.WorkflowFile(domain, slug)
	found, err := workspace.LoadWith(w, file, func(text []byte) (found Found, err error) {
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

// List lists the templates by id, of one domain or of all, and the files that are
// none.
func List(w *workspace.Workspace, domain string) (list []Found, problems []Problem, err error) {
	domains, err := workspace.Dirs(w.FS, workspace.WorkflowsDir)
	if err != nil {
		return nil, nil, err
	}
	list, problems = []Found{}, []Problem{}
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

// Get reads a template by its id. fault.NotFound: there is none; fault.InvalidFile: it
// does not fit.
func Get(w *workspace.Workspace, id string) (Found, error) {
	domain, slug, ok := doc.SplitWorkflowID(id)
	if !ok || !w.Exists(workspace.WorkflowFile(domain, slug)) {
		return Found{}, fault.New(fault.NotFound, "workflow %s does not exist", id)
	}
	return read(w, domain, slug)
}

// Put writes a template, which is durable when it returns, and returns its file.
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

// Choice is the agent of a task, as things are now.
type Choice struct {
	Name      string `json:"name"`
	AgentID   string `json:"agent_id"`
	Provider  string `json:"provider"`
	Model     string `json:"model,omitempty"`
	Available bool   `json:"available"`
}

// Choices are the agents of a template's tasks, in order of the nodes; one that is
// not available is named as the template does.
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
		if agent, ok := chosen(agents, n.Task.Agent); ok {
			c = Choice{agent.Name, agent.ID, agent.Provider, n.Task.Model, true}
			if c.Model == "" {
				c.Model = agent.ModelHint
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// Unfit is the error of a template that a caller brought, with all its issues below
// the name of the param.
func Unfit(err error, param string) error {
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
