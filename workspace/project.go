package workspace

// Projects, their links to repositories, and this machine's settings.

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/collation"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// Project reads one project. It returns fault.NotFound if there is none.
func (w *Workspace) Project(id string) (doc.Project, error) {
	project, err := Load(w, doc.ProjectCodec, ProjectFile(id))
	if err != nil {
		return project, missing(err, "project", id)
	}
	return project, CheckID(ProjectFile(id), id, project.ID)
}

// HasProject reports whether a project exists. A folder whose document is missing or invalid
// is not a project, whatever else it contains.
func (w *Workspace) HasProject(id string) (bool, error) {
	_, err := w.Project(id)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidFile) {
		return false, nil
	}
	return err == nil, err
}

// Projects lists the readable projects, sorted by id.
func (w *Workspace) Projects() ([]doc.Project, error) {
	return LoadFolders(w, doc.ProjectCodec, ProjectsDir, ProjectFile, func(id string, project doc.Project) (doc.Project, error) {
		return project, CheckID(ProjectFile(id), id, project.ID)
	})
}

// RepoLinks reads the repository links of a project. Without the file there are none.
func (w *Workspace) RepoLinks(project string) ([]doc.RepoLink, error) {
	links, err := Load(w, doc.RepoLinksCodec, ReposFile(project))
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return links.Repos, err
}

// NewProject creates a project without defaults and returns its id.
func (w *Workspace) NewProject(ctx context.Context, name string) (string, error) {
	id := w.Env.IDs.New("proj")
	return id, w.Update(ctx, func(u *Unit) error {
		tree, err := w.ProjectTree(id, name)
		if err != nil {
			return err
		}
		return u.Create(ProjectDir(id), tree)
	})
}

// ProjectTree returns the directory of a new project, without defaults.
func (w *Workspace) ProjectTree(id, name string) (Tree, error) {
	tree, err := documentTree(doc.ProjectCodec, "project.yaml", doc.Project{
		SchemaVersion: doc.Version, Type: "project", ID: id, Name: name, Status: "active", CreatedAt: clock.Stamp(w.Env.Clock.Now()),
	})
	tree.Dirs = []string{"tasks", "artifacts", "context_packs", "runs", "share_packs"}
	memory := "# Project memory of " + oneLine(name) + "\n\n## Summary\n\n## Decisions\n\n## Links\n\n"
	tree.Files = append(tree.Files, TreeFile{"memory.md", []byte(memory)})
	return tree, err
}

// LinkRepo links a repository to a project, replacing an earlier link to the same repository.
// It returns all links of the project. A blank label is omitted.
func (w *Workspace) LinkRepo(ctx context.Context, project, repo, label string) ([]doc.RepoLink, error) {
	var links []doc.RepoLink
	err := w.Update(ctx, func(u *Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		old, err := LoadIn(u, doc.RepoLinksCodec, ReposFile(project))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		link := doc.RepoLink{RepoID: strings.TrimSpace(repo), Label: strings.TrimSpace(label)}
		if slices.Contains(old.Repos, link) {
			links = old.Repos
			return nil
		}
		links = slices.DeleteFunc(slices.Clone(old.Repos), func(l doc.RepoLink) bool { return l.RepoID == link.RepoID })
		links = append(links, link)
		return u.putLinks(project, links)
	})
	return links, err
}

func (u *Unit) putLinks(project string, links []doc.RepoLink) error {
	text, err := u.w.linksText(project, links)
	if err != nil {
		return err
	}
	return u.Write(ReposFile(project), text, 0o644)
}

// linksText sorts links and encodes them as repos.yaml.
func (w *Workspace) linksText(project string, links []doc.RepoLink) ([]byte, error) {
	id := func(l doc.RepoLink) string { return l.RepoID }
	collation.SortBy(links, id, id)
	return doc.RepoLinksCodec.Encode(doc.RepoLinks{
		SchemaVersion: doc.Version, Type: "project_repo_links", ProjectID: project,
		UpdatedAt: clock.Stamp(w.Env.Clock.Now()), Repos: links,
	})
}

// Machine reads this machine's settings.
func (w *Workspace) Machine() (doc.Machine, error) { return Load(w, doc.MachineCodec, MachineFile) }

// SetRepoRoot maps a repository to a directory of this machine and returns the absolute path.
// A relative dir is resolved against the process's working directory.
func (w *Workspace) SetRepoRoot(ctx context.Context, repo, dir string, requireGit bool) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.IO, "%s: %w", dir, err)
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", fault.New(fault.NotFound, "%s: %w", abs, err)
	}
	if !st.IsDir() {
		return "", fault.New(fault.InvalidFile, "%s is not a directory", abs)
	}
	if requireGit {
		if _, err := os.Lstat(filepath.Join(abs, ".git")); err != nil {
			return "", fault.New(fault.InvalidFile, "%s is not a git repository: it has no .git (pass require_git false to map it anyway)", abs)
		}
	}
	return abs, w.UpdateMachine(ctx, func(m *doc.Machine) { m.RepoRoots[repo] = abs })
}

// UpdateMachine changes this machine's settings. A missing document is created with the
// defaults first. An unreadable one is an error and stays unchanged.
func (w *Workspace) UpdateMachine(ctx context.Context, change func(*doc.Machine)) error {
	return w.Update(ctx, func(u *Unit) error { return u.UpdateMachine(change) })
}

// UpdateMachine is Workspace.UpdateMachine within a unit.
func (u *Unit) UpdateMachine(change func(*doc.Machine)) error {
	machine, err := LoadIn(u, doc.MachineCodec, MachineFile)
	if fault.Is(err, fault.NotFound) {
		machine, err = DefaultMachine(), nil
	}
	if err != nil {
		return err
	}
	change(&machine)
	return Put(u, doc.MachineCodec, MachineFile, machine, 0o600)
}

// Secrets reads this machine's secrets, which no API method returns. Without the file there
// are none.
func (w *Workspace) Secrets() (doc.Secrets, error) {
	secrets, err := Load(w, doc.SecretsCodec, SecretsFile)
	if fault.Is(err, fault.NotFound) {
		return doc.Secrets{}, nil
	}
	return secrets, err
}

// UpdateEquipment changes this machine's settings together with their secrets, or neither if
// change fails. Both files are readable by this user only.
func (u *Unit) UpdateEquipment(change func(*doc.Machine, *doc.Secrets) error) error {
	secrets, err := LoadIn(u, doc.SecretsCodec, SecretsFile)
	missing := fault.Is(err, fault.NotFound)
	if missing {
		secrets, err = doc.Secrets{SchemaVersion: doc.Version, Type: "secrets"}, nil
	}
	if err != nil {
		return err
	}
	machine, err := LoadIn(u, doc.MachineCodec, MachineFile)
	if fault.Is(err, fault.NotFound) {
		machine, err = DefaultMachine(), nil
	}
	if err == nil {
		err = change(&machine, &secrets)
	}
	if err == nil && (!missing || !secrets.Empty()) {
		err = Put(u, doc.SecretsCodec, SecretsFile, secrets, 0o600)
	}
	if err != nil {
		return err
	}
	return Put(u, doc.MachineCodec, MachineFile, machine, 0o600)
}

// DefaultMachine returns the settings of a machine on which nothing has been set up.
func DefaultMachine() doc.Machine {
	policies := map[string]doc.ExecutionPolicy{}
	for _, p := range doc.Providers() {
		if p.Policy != nil {
			policies[p.Name] = *p.Policy
		}
	}
	return doc.Machine{
		SchemaVersion: doc.Version, Type: "machine",
		RepoRoots: map[string]string{}, ProviderBins: map[string]string{}, Pricing: map[string]doc.RateCard{}, ExecutionPolicy: policies,
	}
}

// ProjectResult is the result of CreateProjectWithDefaults.
type ProjectResult struct {
	ID              string
	SecretaryID     string
	ConversationIDs []string
	RepoLinks       []doc.RepoLink
}

// ProjectSpec describes a new project.
type ProjectSpec struct {
	Name string
	// CEOActor and ExecutiveManager lead the project's conversations. If empty, the company's
	// do.
	CEOActor, ExecutiveManager string
	RepoIDs                    []string
	// Fill adds to the project's directory before it becomes visible. It may be nil.
	Fill func(project string, tree *Tree) error
}

// CreateProjectWithDefaults atomically creates a project with its secretary, conversations
// and repository links.
func (w *Workspace) CreateProjectWithDefaults(ctx context.Context, name, ceoActor string, repos []string) (ProjectResult, error) {
	return w.MakeProject(ctx, ProjectSpec{Name: name, CEOActor: ceoActor, RepoIDs: repos})
}

// MakeProject is CreateProjectWithDefaults with every option.
func (w *Workspace) MakeProject(ctx context.Context, spec ProjectSpec) (made ProjectResult, err error) {
	err = w.Update(ctx, func(u *Unit) error {
		made, err = u.CreateProject(spec)
		return err
	})
	return made, err
}

// CreateProject is MakeProject within a unit.
func (u *Unit) CreateProject(spec ProjectSpec) (ProjectResult, error) {
	w := u.w
	made := ProjectResult{ID: w.Env.IDs.New("proj"), RepoLinks: []doc.RepoLink{}}
	made.SecretaryID = SecretaryID(made.ID)
	for _, repo := range spec.RepoIDs {
		repo = strings.TrimSpace(repo)
		if repo != "" && !slices.ContainsFunc(made.RepoLinks, func(l doc.RepoLink) bool { return l.RepoID == repo }) {
			made.RepoLinks = append(made.RepoLinks, doc.RepoLink{RepoID: repo})
		}
	}
	tree, err := w.ProjectTree(made.ID, spec.Name)
	if err != nil {
		return made, err
	}
	if len(made.RepoLinks) > 0 {
		text, err := w.linksText(made.ID, made.RepoLinks)
		if err != nil {
			return made, err
		}
		tree.Files = append(tree.Files, TreeFile{path.Base(ReposFile(made.ID)), text})
	}
	conversations, err := u.projectDefaults(made.ID, Leader{ActorID: spec.CEOActor, ExecutiveManager: spec.ExecutiveManager, EnrolMembers: true})
	if err != nil {
		return made, err
	}
	made.ConversationIDs = idsOf(conversations)
	tree.Dirs = append(tree.Dirs, "conversations")
	for _, c := range conversations {
		text, err := doc.ConversationCodec.Encode(u.stampConversation(c.want))
		if err != nil {
			return made, err
		}
		tree.Files = append(tree.Files,
			TreeFile{path.Join("conversations", c.want.ID, ConversationFile), text},
			TreeFile{path.Join("conversations", c.want.ID, MessagesFile), nil})
	}
	if spec.Fill != nil {
		if err := spec.Fill(made.ID, &tree); err != nil {
			return made, err
		}
	}
	return made, u.Create(ProjectDir(made.ID), tree)
}
