package validate

// The kinds of documents that validation knows, and the rules for each beyond its schema.

import (
	"path"

	"ac/events"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

func teamKind() kind {
	return yamlKind(doc.TeamCodec, func(d *finding, file string, t doc.Team) { d.checkID(file, path.Base(path.Dir(file)), t.ID) })
}

func agentKind() kind {
	return yamlKind(doc.AgentCodec, func(d *finding, file string, a doc.Agent) {
		d.checkID(file, path.Base(path.Dir(file)), a.ID)
		d.namesTeam("team_id", a.TeamID)
	})
}

func projectKind() kind {
	return yamlKind(doc.ProjectCodec, func(d *finding, file string, p doc.Project) { d.checkID(file, path.Base(path.Dir(file)), p.ID) })
}

func repoLinksKind() kind {
	return lenient(yamlKind(doc.RepoLinksCodec, func(d *finding, file string, l doc.RepoLinks) { d.checkProject(file, projectOf(file), l.ProjectID) }))
}

func runKind() kind {
	return yamlKind(doc.RunCodec, func(d *finding, file string, r doc.Run) {
		d.checkID(file, path.Base(path.Dir(file)), r.ID)
		d.checkProject(file, projectOf(file), r.ProjectID)
		d.namesAgent("agent_id", r.AgentID)
		if r.LogIntegrity != nil {
			d.warn(events.LogTampered, file, r.LogIntegrity.String())
		}
	})
}

func contextPackKind() kind {
	return yamlKind(doc.ContextPackCodec, func(d *finding, file string, p doc.ContextPack) { d.checkID(file, path.Base(path.Dir(file)), p.ID) })
}

func sharePackKind() kind {
	return yamlKind(doc.SharePackCodec, func(d *finding, file string, p doc.SharePack) {
		d.checkID(file, path.Base(path.Dir(file)), p.ID)
		d.needs = bundled(p)
	})
}

func taskKind() kind {
	return recordKind(doc.TaskCodec, func(d *finding, file string, t doc.Task) []string {
		d.checkID(file, idOfFile(file), t.ID)
		d.checkProject(file, projectOf(file), t.ProjectID)
		d.namesAgent("assignee_agent_id", t.AssigneeAgentID)
		d.namesTeam("team_id", t.TeamID)
		for _, field := range t.Incomplete() {
			d.issue("contract_incomplete", file, field+" is empty although the task is "+t.Status)
		}
		return []string{"## Contract", "## Milestones"}
	})
}

func artifactKind() kind {
	return typedKind(doc.ArtifactCodec, func(d *finding, file string, head []byte, a doc.Artifact) ([]string, func()) {
		d.checkID(file, idOfFile(file), a.ID)
		return doc.Headings(a.Type), func() { d.ofType(a.Type, file, head) }
	})
}

// ofType checks an artifact against the rules of its type.
func (d *finding) ofType(artifactType, file string, head []byte) {
	switch artifactType {
	case "memory_delta":
		delta, misfits := typed(doc.MemoryDeltaCodec, head)
		if misfits == "" {
			d.needs = []string{delta.PatchFile}
		} else {
			d.issue("memory_delta_invalid", file, misfits)
		}
	case "milestone_report":
		if _, misfits := typed(doc.MilestoneReportCodec, head); misfits != "" {
			d.issue("milestone_report_invalid", file, misfits)
		}
	case "heartbeat_action_proposal":
		if _, misfits := typed(doc.HeartbeatProposalCodec, head); misfits != "" {
			d.warn("schema_invalid", file, misfits)
		}
	}
}

func helpRequestKind() kind {
	return recordKind(doc.HelpRequestCodec, func(d *finding, file string, h doc.HelpRequest) []string {
		d.checkID(file, idOfFile(file), h.ID)
		return []string{"## Question", "## Response"}
	})
}

func reviewKind() kind {
	return yamlKind(doc.ReviewCodec, func(d *finding, file string, r doc.Review) { d.checkID(file, idOfFile(file), r.ID) })
}

func sessionKind() kind {
	return lenient(yamlKind(doc.SessionCodec, func(d *finding, file string, s doc.Session) {
		d.checkID(file, idOfFile(file), workspace.EncodeRef(s.Ref))
	}))
}

func conversationKind(id, project string) kind {
	return lenient(yamlKind(doc.ConversationCodec, func(d *finding, file string, c doc.Conversation) {
		d.checkID(file, id, c.ID)
		switch {
		case project == "" && c.Scope != "workspace":
			d.warn("id_mismatch", file, "has the scope "+c.Scope+" but lies in the workspace's inbox")
		case project != "" && c.Scope != "project":
			d.warn("id_mismatch", file, "has the scope "+c.Scope+" but lies in "+project)
		case project != "":
			d.checkProject(file, project, c.ProjectID)
		}
	}))
}

// mapping is a document that only has to be readable.
type mapping struct{}

var mappingCodec = yamldoc.For[mapping]()

func commentKind() kind {
	return lenient(yamlKind(doc.CommentCodec, func(d *finding, file string, c doc.Comment) { d.checkID(file, idOfFile(file), c.ID) }))
}

// workflowKind returns the kind of workflow templates. Their problems are only warnings.
func workflowKind() kind {
	return kind{unreadable: "workflow_invalid", limit: yamldoc.MaxBytes, judge: func(file string, text []byte) (d finding) {
		t, err := doc.DecodeWorkflow(text)
		if err != nil {
			d.warn("workflow_invalid", file, err.Error())
			return d
		}
		d.checkID(file, path.Base(path.Dir(file))+":"+idOfFile(file), t.ID)
		for _, n := range t.Nodes {
			if n.Task != nil && n.Task.Agent.AgentID != "" {
				d.namesAgent("agent_id", n.Task.Agent.AgentID)
			}
			if n.Task != nil && n.Task.Agent.TeamID != "" {
				d.namesTeam("team_id", n.Task.Agent.TeamID)
			}
		}
		return d
	}}
}

func workflowRunKind() kind {
	return lenient(yamlKind(doc.WorkflowRunCodec, func(d *finding, file string, r doc.WorkflowRun) {
		d.checkID(file, path.Base(path.Dir(file)), r.RunID)
		d.checkProject(file, projectOf(file), r.ProjectID)
	}))
}

func jobKind() kind {
	return lenient(yamlKind(doc.JobCodec, func(d *finding, file string, j doc.Job) {
		d.checkID(file, path.Base(path.Dir(file)), j.Job.JobID)
		d.checkProject(file, projectOf(file), j.Job.ProjectID)
	}))
}
