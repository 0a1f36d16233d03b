package validate

// The order of validation: which documents it expects where.

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

func (v *inspection) workspace() {
	for _, dir := range workspace.RequiredDirs() {
		if _, mode, err := v.see(dir); err != nil || !mode.IsDir() {
			v.missing("missing_dir", dir)
		}
	}
	for _, file := range workspace.RequiredFiles() {
		if _, _, err := v.see(file); durable.IsAbsent(err) {
			v.missing("missing_file", file)
		}
	}
	teams, agents := v.dirs(workspace.TeamsDir), v.dirs(workspace.AgentsDir)
	v.known = &membership{teams: teams.set(), agents: agents.set()}
	v.document(workspace.CompanyFile, yamlKind(doc.CompanyCodec, ignored[doc.Company]))
	v.document(workspace.PolicyFile, yamlKind(doc.PolicyCodec, ignored[doc.Policy]))
	v.each(v.files(workspace.ReviewsDir, ".yaml"), func(part *inspection, name string) {
		part.document(path.Join(workspace.ReviewsDir, name), reviewKind())
	})
	v.each(v.files(workspace.HelpRequestsDir, ".md"), func(part *inspection, name string) {
		part.document(path.Join(workspace.HelpRequestsDir, name), helpRequestKind())
	})
	v.document(workspace.MachineFile, yamlKind(doc.MachineCodec, ignored[doc.Machine]))
	v.document(workspace.SecretsFile, lenient(yamlKind(doc.SecretsCodec, ignored[doc.Secrets])))
	v.each(teams, func(part *inspection, id string) { part.required(workspace.TeamFile(id), teamKind()) })
	v.each(agents, func(part *inspection, id string) { part.required(workspace.AgentFile(id), agentKind()) })
	v.each(v.dirs(workspace.ProjectsDir), func(part *inspection, id string) { part.project(id) })
	v.optionalDocuments()
}

// optionalDocuments checks documents whose problems leave the workspace valid.
func (v *inspection) optionalDocuments() {
	v.document("company/migrations/applied.yaml", lenient(yamlKind(mappingCodec, ignored[mapping])))
	v.each(v.files(workspace.CommentsDir, ".yaml"), func(part *inspection, name string) {
		part.document(path.Join(workspace.CommentsDir, name), commentKind())
	})
	v.each(v.dirs(workspace.WorkflowsDir), func(part *inspection, domain string) {
		part.each(part.files(path.Join(workspace.WorkflowsDir, domain), ".yaml"), func(one *inspection, name string) {
			one.document(workspace.WorkflowFile(domain, strings.TrimSuffix(name, ".yaml")), workflowKind())
		})
	})
	v.conversation(workspace.HomeDir, "conv_workspace_home", "")
	v.conversations("inbox/conversations", "")
	v.document(workspace.HeartbeatConfigFile, lenient(yamlKind(doc.HeartbeatConfigCodec, ignored[doc.HeartbeatConfig])))
	v.document(workspace.StatementsFile, lenient(yamlKind(doc.StatementsCodec, ignored[doc.Statements])))
	v.document(workspace.HeartbeatStateFile, lenient(yamlKind(doc.HeartbeatStateCodec, ignored[doc.HeartbeatState])))
	v.each(v.files(workspace.SessionsDir, ".yaml"), func(part *inspection, name string) {
		part.document(path.Join(workspace.SessionsDir, name), sessionKind())
	})
}

// partOf holds the entries of a directory that validation checks.
type partOf struct {
	dir     string
	entries []durable.Entry
}

func (p *partOf) take(e durable.Entry) { p.entries = append(p.entries, e) }

func (p partOf) set() map[string]bool {
	set := make(map[string]bool, len(p.entries))
	for _, e := range p.entries {
		set[e.Name] = true
	}
	return set
}

// dirs lists the subdirectories of a directory. It skips all other entries with a warning.
func (v *inspection) dirs(dir string) partOf {
	found := partOf{dir: dir}
	v.list(dir, func(e durable.Entry) {
		switch {
		case e.Type.IsDir() || durable.LinksTo(v.fs, dir, e, fs.ModeDir):
			found.take(e)
		case e.Type&fs.ModeSymlink != 0:
			v.stray(dir, e.Name, "is a link that leads to no directory of this workspace, and is not read")
		default:
			v.stray(dir, e.Name, "is no directory, and is not read")
		}
	})
	return found
}

// files lists the documents of a directory. It skips all other entries with a warning.
func (v *inspection) files(dir, extension string) partOf {
	found := partOf{dir: dir}
	v.list(dir, func(e durable.Entry) {
		if path.Ext(e.Name) == extension {
			found.take(e)
		} else {
			v.stray(dir, e.Name, "does not end in "+extension+", and is not read")
		}
	})
	return found
}

// evidence lists the documents of a directory that may also contain other files.
func (v *inspection) evidence(dir, extension string) partOf {
	found := partOf{dir: dir}
	v.list(dir, func(e durable.Entry) {
		if path.Ext(e.Name) == extension {
			found.take(e)
		}
	})
	return found
}

func (v *inspection) list(dir string, visit func(durable.Entry)) {
	entries, err := v.memory.list(v.fs, v.see, dir)
	if err != nil && !durable.IsAbsent(err) {
		v.issue("read_error", dir, dir+": "+durable.Cause(err))
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, ".") {
			visit(e)
		}
	}
}

func (v *inspection) stray(dir, name, why string) {
	file := path.Join(dir, name)
	v.warn("stray_entry", file, file+": "+why)
}

func (v *inspection) project(id string) {
	if !v.required(workspace.ProjectFile(id), projectKind()) {
		return
	}
	there := map[string]bool{}
	v.list(workspace.ProjectDir(id), func(e durable.Entry) { there[e.Name] = true })
	in := func(name string) string { return path.Join(workspace.ProjectDir(id), name) }
	if there["runs"] {
		v.each(v.dirs(workspace.RunsDir(id)), func(part *inspection, run string) { part.run(id, run) })
	}
	if there["tasks"] {
		v.each(v.files(workspace.TasksDir(id), ".md"), func(part *inspection, name string) {
			part.document(path.Join(workspace.TasksDir(id), name), taskKind())
		})
	}
	if there["artifacts"] {
		v.each(v.evidence(workspace.ArtifactsDir(id), ".md"), func(part *inspection, name string) {
			part.document(path.Join(workspace.ArtifactsDir(id), name), artifactKind())
		})
	}
	if there["context_packs"] {
		v.each(v.dirs(in("context_packs")), func(part *inspection, pack string) {
			part.required(path.Join(in("context_packs"), pack, "manifest.yaml"), contextPackKind())
			part.required(path.Join(in("context_packs"), pack, "policy_snapshot.yaml"), yamlKind(doc.PolicySnapshotCodec, ignored[doc.PolicySnapshot]))
		})
	}
	if there["share_packs"] {
		v.each(v.dirs(workspace.SharePacksDir(id)), func(part *inspection, pack string) {
			part.required(workspace.SharePackFile(id, pack), sharePackKind())
		})
	}
	if there["repos.yaml"] {
		v.document(workspace.ReposFile(id), repoLinksKind())
	}
	if there["conversations"] {
		v.conversations(in("conversations"), id)
	}
	if there["jobs"] {
		v.each(v.dirs(in("jobs")), func(part *inspection, job string) {
			part.inFolder(path.Join(in("jobs"), job), "job.yaml", jobKind())
		})
	}
}

func (v *inspection) run(project, id string) {
	if !v.required(workspace.RunFile(project, id), runKind()) {
		return
	}
	v.document(workspace.WorkflowRunFile(project, id), workflowRunKind())
	log := workspace.LogFile(project, id)
	if _, _, err := v.see(log); durable.IsAbsent(err) {
		v.missing("missing_file", log)
	} else if v.depth == thorough {
		v.seals(log)
	}
}

// maxFirstLine bounds how much of a log is read to check its first seal, in bytes.
const maxFirstLine = 64 << 10

// seals warns if a log starts with an event from before seals were introduced.
func (v *inspection) seals(log string) {
	f, err := v.fs.OpenFile(log, os.O_RDONLY, 0)
	if err != nil {
		v.warn("read_error", log, log+": "+durable.Cause(err))
		return
	}
	defer f.Close()
	beginning := make([]byte, maxFirstLine)
	n, _ := f.ReadAt(beginning, 0) // a short log returns EOF
	line, _, whole := strings.Cut(string(beginning[:n]), "\n")
	if whole && strings.HasPrefix(line, "{") && events.Text([]byte(line), "event_hash") == "" {
		v.warn("unsealed_events", log, log+": holds events without event_hash (ac workspace:migrate seals them)")
	}
}

func (v *inspection) conversations(dir, project string) {
	v.each(v.dirs(dir), func(part *inspection, id string) { part.conversation(path.Join(dir, id), id, project) })
}

func (v *inspection) conversation(dir, id, project string) {
	if _, _, err := v.see(dir); durable.IsAbsent(err) {
		return
	}
	v.inFolder(dir, "conversation.yaml", conversationKind(id, project))
	if messages := path.Join(dir, "messages.jsonl"); v.depth == thorough && durable.Exists(v.fs, messages) {
		v.document(messages, messagesKind(id))
	}
}

// inFolder checks the document of a folder. If the document is missing, readers ignore the
// folder, and inFolder warns.
func (v *inspection) inFolder(dir, name string, k kind) {
	if !v.document(path.Join(dir, name), k) {
		v.warn("stray_entry", dir, dir+": has no "+name+", and is not read")
	}
}

func ignored[T any](*finding, string, T) {}

// typed decodes the front matter of an artifact again, as a specific type. misfits describes
// all problems in one text.
func typed[T any](codec yamldoc.Codec[T], head []byte) (document T, misfits string) {
	document, err := codec.Decode(head)
	if misfit, ok := errors.AsType[*yamldoc.SchemaError](err); ok {
		return document, misfit.Error()
	}
	return document, ""
}

// bundled returns the files that a share pack claims to contain.
func bundled(pack doc.SharePack) (relpaths []string) {
	for _, a := range pack.IncludedArtifacts {
		relpaths = append(relpaths, a.BundleRelpath)
	}
	for _, f := range pack.IncludedFiles {
		relpaths = append(relpaths, f.BundleRelpath)
	}
	for _, r := range pack.IncludedRuns {
		relpaths = append(relpaths, r.BundleRelpath)
	}
	return relpaths
}
