package equipment

// skill.*: skills of agent programs, read from a repository.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/company"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

// Limits of skills: their number, and the size of one in bytes.
const (
	maxSkills    = 200
	maxSkillText = 64 << 10
)

// SkillParams are the params of skill.list. The default repository is the only linked one on
// this machine, of the project or of all projects.
type SkillParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"optional,id"`
	RepoID    string `json:"repo_id" is:"optional"`
}

// Skill is an instruction for agents. Source is relative to the root of the repository, "" for
// built-in skills. Agents lists the drivers whose agents read the skill.
type Skill struct {
	Name        string   `json:"name"`
	CommandKey  string   `json:"command_key"`
	Description string   `json:"description"`
	Category    string   `json:"category"` // builtin, project or user
	Enabled     bool     `json:"enabled"`
	Source      string   `json:"source"`
	Agents      []string `json:"agents"`
}

// Skills is the result of skill.list.
type Skills struct {
	Skills []Skill `json:"skills"`
}

// skillPlaces returns the directories of skills, with the drivers whose agents read them.
func skillPlaces() []struct {
	dir    string
	agents []string
} {
	all := []string{doc.LiveACP, doc.LiveClaude, doc.LiveCodex}
	return []struct {
		dir    string
		agents []string
	}{
		{".agents/skills", []string{doc.LiveACP, doc.LiveCodex}}, {".claude/skills", []string{doc.LiveACP, doc.LiveClaude}},
		{".codex/skills", []string{doc.LiveCodex}}, {".agent/skills", all[:1]}, {".acecode/skills", all[:1]},
	}
}

// ListSkills lists the built-in commands and the skills of a repository, by directory and name.
// It does not search the user's home.
func (c Operations) ListSkills(_ context.Context, p SkillParams) (Skills, error) {
	every := []string{doc.LiveACP, doc.LiveClaude, doc.LiveCodex}
	list := Skills{[]Skill{
		{"init", "/init", "Write down what agents should know of this repository.", "builtin", true, "", every},
		{"compact", "/compact", "Make the conversation smaller.", "builtin", true, "", every},
	}}
	root, err := c.skillRoot(p)
	if err != nil || root == "" {
		return list, err
	}
	found, err := skillsIn(root)
	list.Skills = append(list.Skills, found...)
	return list, err
}

// SkillTextParams are the params of skill.read.
type SkillTextParams struct {
	SkillParams
	Name string `json:"name"`
}

// SkillText is the result of skill.read.
type SkillText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ReadSkill returns the first 64 KiB of a skill's text.
func (c Operations) ReadSkill(ctx context.Context, p SkillTextParams) (SkillText, error) {
	list, err := c.ListSkills(ctx, p.SkillParams)
	if err != nil {
		return SkillText{}, err
	}
	i := slices.IndexFunc(list.Skills, func(s Skill) bool { return s.Name == p.Name })
	if i < 0 {
		return SkillText{}, fault.New(fault.NotFound, "there is no skill %s", p.Name)
	}
	if list.Skills[i].Source == "" {
		return SkillText{p.Name, list.Skills[i].Description + "\n"}, nil
	}
	root, err := c.skillRoot(p.SkillParams)
	if err != nil {
		return SkillText{}, err
	}
	fsys, err := durable.OpenRoot(root)
	if err != nil {
		return SkillText{}, fault.New(fault.IO, "%w", err)
	}
	text, err := skillText(fsys, list.Skills[i].Source)
	return SkillText{p.Name, text}, errors.Join(err, fsys.Close())
}

// skillRoot returns the repository that the params select, "" for none.
func (c Operations) skillRoot(p SkillParams) (string, error) {
	machine, err := c.Workspace().Machine()
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	if p.RepoID == "" && p.ProjectID == "" {
		roots, err := c.consoleRoots()
		if err != nil || len(roots) != 2 {
			return "", err
		}
		return roots[1], nil
	}
	var roots []string
	projects, err := c.Workspace().Projects()
	if err != nil {
		return "", err
	}
	for _, project := range projects {
		links, err := c.Workspace().RepoLinks(project.ID)
		if err != nil {
			return "", err
		}
		for _, link := range links {
			if p.ProjectID != "" && p.ProjectID != project.ID || p.RepoID != "" && p.RepoID != link.RepoID {
				continue
			}
			if root, err := worktree.Root(machine, link.RepoID); err == nil && !slices.Contains(roots, root) {
				roots = append(roots, root)
			}
		}
	}
	if p.RepoID != "" && len(roots) == 0 {
		return "", fault.New(fault.NotFound, "repository %s is not linked, or not on this machine", p.RepoID)
	}
	if len(roots) != 1 {
		return "", nil
	}
	return filepath.EvalSymlinks(roots[0])
}

// skillsIn reads the skills of a repository. It skips symbolic links that leave the repository.
func skillsIn(dir string) (found []Skill, err error) {
	root, err := durable.OpenRoot(dir)
	if err != nil {
		return nil, fault.New(fault.IO, "%w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	seen := map[string]bool{"init": true, "compact": true}
	for _, place := range skillPlaces() {
		names, err := root.ReadNames(place.dir)
		if err != nil {
			continue // missing, or outside of the repository
		}
		slices.Sort(names)
		for _, name := range names {
			source := path.Join(place.dir, name, "SKILL.md")
			text, err := skillText(root, source)
			if err != nil || len(found) == maxSkills {
				continue
			}
			skill := Skill{Category: "project", Enabled: true, Source: source, Agents: place.agents}
			skill.Name, skill.Description = skillHead(name, text)
			if skill.CommandKey = "/" + skill.Name; seen[skill.Name] {
				continue // the first directory wins
			}
			seen[skill.Name] = true
			found = append(found, skill)
		}
	}
	return found, nil
}

// skillText reads a skill, up to maxSkillText bytes.
func skillText(fsys durable.FS, name string) (string, error) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", fault.New(fault.NotFound, "there is no %s", name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSkillText))
	return strings.ToValidUTF8(string(text), "\uFFFD"), errors.Join(err, file.Close())
}

// skillMatter is the front matter of a skill.
type skillMatter struct {
	Name        string `json:"name" is:"optional"`
	Description string `json:"description" is:"optional"`
}

var skillCodec = yamldoc.For[skillMatter]()

// skillHead returns the name and the description from the front matter of a skill. If it has no
// name, skillHead returns the name of its folder.
func skillHead(folder, text string) (name, description string) {
	var head skillMatter
	if matter, _, err := frontmatter.Split([]byte(text)); err == nil {
		head, _ = skillCodec.Decode(matter) // invalid front matter counts as empty
	}
	return cmp.Or(strings.TrimSpace(head.Name), folder), strings.TrimSpace(head.Description)
}
