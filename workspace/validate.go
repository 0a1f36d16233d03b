package workspace

// Validation of a whole folder: what is missing, what cannot be read, what does
// not fit. Nothing is written, and a folder of any state gives a report.

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// Issue is one finding. Path is relative to the workspace.
type Issue struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path"`
}

// Findings are the issues of a workspace, which make it invalid, and the
// warnings, which don't.
type Findings struct {
	Issues   []Issue
	Warnings []Issue
}

// Validate checks the folder at a path. It may be missing or no workspace at
// all: then the findings say so.
func Validate(env Env, dir string) Findings {
	fsys, err := openFS(env, dir)
	if err != nil {
		v := &validator{}
		for _, name := range RequiredDirs() {
			v.issue("missing_dir", name, "Missing directory: "+name)
		}
		for _, name := range requiredFiles() {
			v.issue("missing_file", name, "Missing file: "+name)
		}
		return v.findings
	}
	defer fsys.Close()
	v := &validator{fs: fsys}
	v.workspace()
	return v.findings
}

type validator struct {
	fs       durable.FS
	findings Findings
	known    struct{ teams, agents map[string]bool }
}

func (v *validator) issue(code, file, message string) {
	v.findings.Issues = append(v.findings.Issues, Issue{Code: code, Message: message, Path: file})
}

func (v *validator) warn(code, file, message string) {
	v.findings.Warnings = append(v.findings.Warnings, Issue{Code: code, Message: message, Path: file})
}

func (v *validator) workspace() {
	for _, dir := range RequiredDirs() {
		if st, err := v.fs.Stat(dir); err != nil || !st.IsDir() {
			v.issue("missing_dir", dir, "Missing directory: "+dir)
		}
	}
	for _, file := range requiredFiles() {
		if _, err := v.fs.Stat(file); err != nil {
			v.issue("missing_file", file, "Missing file: "+file)
		}
	}
	check(v, doc.CompanyCodec, CompanyFile, ignore)
	check(v, doc.PolicyCodec, PolicyFile, ignore)
	v.inbox()
	check(v, doc.MachineCodec, MachineFile, ignore)
	v.org()
	for _, project := range v.dirs(ProjectsDir) {
		v.project(project)
	}
}

func ignore[T any](T) {}

func (v *validator) dirs(dir string) []string {
	names, err := Dirs(v.fs, dir)
	if err != nil {
		v.issue("read_error", dir, err.Error())
	}
	return names
}

func (v *validator) files(dir, extension string) []string {
	names, err := Files(v.fs, dir, extension)
	if err != nil {
		v.issue("read_error", dir, err.Error())
	}
	return names
}

// check validates one YAML document; a missing one was reported before or is
// no issue here.
func check[T any](v *validator, codec yamldoc.Codec[T], name string, then func(T)) {
	if _, err := v.fs.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return
	}
	checkAs(codec, v.fs, name, v.issue, then)
}

func checkAs[T any](codec yamldoc.Codec[T], fsys durable.FS, name string, report func(code, file, message string), then func(T)) {
	text, err := durable.ReadFile(fsys, name, yamldoc.MaxBytes)
	if err != nil {
		report("parse_error", name, name+": "+err.Error())
		return
	}
	document, err := codec.Decode(text)
	var misfit *yamldoc.SchemaError
	switch {
	case errors.As(err, &misfit):
		for _, issue := range misfit.Issues {
			report("schema_invalid", name, name+": "+issue.Field()+": "+issue.Message)
		}
	case err != nil:
		report("parse_error", name, name+": "+err.Error())
	default:
		then(document)
	}
}

// required is check for a document that must be there.
func required[T any](v *validator, codec yamldoc.Codec[T], name string, then func(T)) bool {
	if _, err := v.fs.Stat(name); err != nil {
		v.issue("missing_file", name, "Missing file: "+name)
		return false
	}
	check(v, codec, name, then)
	return true
}

func (v *validator) carries(file, want, got string) {
	if want != got {
		v.warn("id_mismatch", file, file+": carries the id "+got+" instead of "+want)
	}
}

func (v *validator) names(file, field, id string, known map[string]bool) {
	if id != "" && !known[id] {
		v.warn("unknown_reference", file, file+": "+field+" "+id+" names nobody")
	}
}

func (v *validator) inbox() {
	for _, name := range v.files(ReviewsDir, ".yaml") {
		file := path.Join(ReviewsDir, name)
		check(v, doc.ReviewCodec, file, func(r doc.Review) { v.carries(file, strings.TrimSuffix(name, ".yaml"), r.ID) })
	}
	for _, name := range v.files(HelpRequestsDir, ".md") {
		file := path.Join(HelpRequestsDir, name)
		if body, ok := markdown(v, doc.HelpRequestCodec, file, func(h doc.HelpRequest) { v.carries(file, strings.TrimSuffix(name, ".md"), h.ID) }); ok {
			v.headings(file, body, []string{"## Question", "## Response"})
		}
	}
	conversation := path.Join(HomeDir, "conversation.yaml")
	if durable.Exists(v.fs, conversation) {
		checkAs(doc.ConversationCodec, v.fs, conversation, v.warn, ignore)
	}
}

func (v *validator) org() {
	v.known.teams, v.known.agents = map[string]bool{}, map[string]bool{}
	for _, id := range v.dirs(TeamsDir) {
		required(v, doc.TeamCodec, TeamFile(id), func(t doc.Team) {
			v.known.teams[t.ID] = true
			v.carries(TeamFile(id), id, t.ID)
		})
	}
	for _, id := range v.dirs(AgentsDir) {
		required(v, doc.AgentCodec, AgentFile(id), func(a doc.Agent) {
			v.known.agents[a.ID] = true
			v.carries(AgentFile(id), id, a.ID)
			v.names(AgentFile(id), "team_id", a.TeamID, v.known.teams)
		})
	}
}

func (v *validator) project(id string) {
	ok := required(v, doc.ProjectCodec, ProjectFile(id), func(p doc.Project) { v.carries(ProjectFile(id), id, p.ID) })
	if !ok {
		return
	}
	for _, run := range v.dirs(RunsDir(id)) {
		v.run(id, run)
	}
	for _, name := range v.files(TasksDir(id), ".md") {
		v.task(path.Join(TasksDir(id), name))
	}
	for _, name := range v.files(ArtifactsDir(id), ".md") {
		v.artifact(path.Join(ArtifactsDir(id), name))
	}
	packs := path.Join(ProjectDir(id), "context_packs")
	for _, pack := range v.dirs(packs) {
		required(v, doc.ContextPackCodec, path.Join(packs, pack, "manifest.yaml"), ignore)
		required(v, doc.PolicySnapshotCodec, path.Join(packs, pack, "policy_snapshot.yaml"), ignore)
	}
	shares := path.Join(ProjectDir(id), "share_packs")
	for _, pack := range v.dirs(shares) {
		required(v, doc.SharePackCodec, path.Join(shares, pack, "manifest.yaml"), v.bundle)
	}
	if durable.Exists(v.fs, ReposFile(id)) {
		checkAs(doc.RepoLinksCodec, v.fs, ReposFile(id), v.warn, ignore)
	}
	conversations := path.Join(ProjectDir(id), "conversations")
	for _, conversation := range v.dirs(conversations) {
		checkAs(doc.ConversationCodec, v.fs, path.Join(conversations, conversation, "conversation.yaml"), v.warn, ignore)
	}
}

func (v *validator) run(project, id string) {
	if !required(v, doc.RunCodec, RunFile(project, id), func(r doc.Run) {
		v.carries(RunFile(project, id), id, r.ID)
		v.names(RunFile(project, id), "agent_id", r.AgentID, v.known.agents)
	}) {
		return
	}
	if log := LogFile(project, id); !durable.Exists(v.fs, log) {
		v.issue("missing_file", log, "Missing file: "+log)
	}
}

func (v *validator) bundle(pack doc.SharePack) {
	relpaths := []string{}
	for _, a := range pack.IncludedArtifacts {
		relpaths = append(relpaths, a.BundleRelpath)
	}
	for _, f := range pack.IncludedFiles {
		relpaths = append(relpaths, f.BundleRelpath)
	}
	for _, r := range pack.IncludedRuns {
		relpaths = append(relpaths, r.BundleRelpath)
	}
	for _, name := range relpaths {
		if !durable.Exists(v.fs, name) {
			v.issue("missing_file", name, "Missing file: "+name)
		}
	}
}

func (v *validator) task(file string) {
	body, ok := markdown(v, doc.TaskCodec, file, func(t doc.Task) {
		v.carries(file, strings.TrimSuffix(path.Base(file), ".md"), t.ID)
		v.names(file, "assignee_agent_id", t.AssigneeAgentID, v.known.agents)
		v.names(file, "team_id", t.TeamID, v.known.teams)
		for _, field := range t.Incomplete() {
			v.issue("contract_incomplete", file, file+": "+field+" is empty although the task is "+t.Status)
		}
	})
	if ok {
		v.headings(file, body, []string{"## Contract", "## Milestones"})
	}
}

func (v *validator) artifact(file string) {
	var kind string
	body, ok := markdown(v, doc.ArtifactCodec, file, func(a doc.Artifact) {
		kind = a.Type
		v.carries(file, strings.TrimSuffix(path.Base(file), ".md"), a.ID)
	})
	if !ok {
		return
	}
	v.headings(file, body, doc.Headings(kind))
	typed := func(code string, issues []fault.Issue) {
		if len(issues) > 0 {
			misfit := yamldoc.SchemaError{Issues: issues}
			v.issue(code, file, file+": "+misfit.Error())
		}
	}
	switch kind {
	case "memory_delta":
		delta, issues := head(v, doc.MemoryDeltaCodec, file)
		typed("memory_delta_invalid", issues)
		if patch := path.Join(path.Dir(file), delta.PatchFile); len(issues) == 0 && !durable.Exists(v.fs, delta.PatchFile) && !durable.Exists(v.fs, patch) {
			v.issue("missing_file", delta.PatchFile, "Missing file: "+delta.PatchFile)
		}
	case "milestone_report":
		_, issues := head(v, doc.MilestoneReportCodec, file)
		typed("milestone_report_invalid", issues)
	}
}

// head reads the front matter of a record again, as another type.
func head[T any](v *validator, codec yamldoc.Codec[T], file string) (T, []fault.Issue) {
	var document T
	text, err := durable.ReadFile(v.fs, file, yamldoc.MaxBytes)
	if err == nil {
		text, _, err = frontmatter.Split(text)
	}
	if err == nil {
		document, err = codec.Decode(text)
	}
	var misfit *yamldoc.SchemaError
	if errors.As(err, &misfit) {
		return document, misfit.Issues
	}
	return document, nil
}

// markdown validates the front matter of a record; ok when it fits.
func markdown[T any](v *validator, codec yamldoc.Codec[T], file string, then func(T)) (body []byte, ok bool) {
	text, err := durable.ReadFile(v.fs, file, yamldoc.MaxBytes)
	if err != nil {
		v.issue("read_error", file, file+": "+err.Error())
		return nil, false
	}
	front, body, err := frontmatter.Split(text)
	if err != nil {
		v.issue("frontmatter", file, file+": "+err.Error())
		return nil, false
	}
	value, err := yamldoc.Parse(front)
	if err != nil {
		v.issue("frontmatter", file, file+": frontmatter_yaml_parse_error: "+err.Error())
		return nil, false
	}
	document, issues := bind(codec, &value)
	for _, issue := range issues {
		v.issue("frontmatter_schema", file, file+": "+issue.Field()+": "+issue.Message)
	}
	if len(issues) > 0 {
		return nil, false
	}
	then(document)
	return body, true
}

func bind[T any](codec yamldoc.Codec[T], value *shape.Value) (T, []fault.Issue) {
	document, err := codec.Bind(value)
	var misfit *yamldoc.SchemaError
	if errors.As(err, &misfit) {
		return document, misfit.Issues
	}
	return document, nil
}

func (v *validator) headings(file string, body []byte, due []string) {
	for _, heading := range due {
		if !frontmatter.HasHeading(body, heading) {
			v.issue("missing_heading", file, file+": the heading "+heading+" is missing")
		}
	}
}
