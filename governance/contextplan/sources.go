package contextplan

// The sources of candidates.

import (
	"fmt"
	"path"

	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// seeds offers what the caller named. Artifacts of the project are subject to the policy.
func (p *planner) seeds() error {
	for _, seed := range p.Seeds {
		c := candidate{Entry{Layer: layerBase, SourceKind: "seed", SourceID: "seed:" + seed.Kind + ":" + seed.Value, Score: scoreSeed, Reason: "seed_ref"}, seed}
		if seed.Kind != kindArtifact || !workspace.SafeID(seed.Value) {
			p.offer(c)
			continue
		}
		record, err := governance.ReadArtifact(p.w, p.ProjectID, seed.Value)
		switch {
		case fault.Is(err, fault.NotFound):
			p.offer(c) // not an artifact of the project
			continue
		case err != nil:
			p.drop(c, "filtered_policy", "artifact_unreadable") // unknown visibility
			continue
		}
		c.Visibility, c.Sensitivity = record.String("visibility"), record.String("sensitivity")
		if p.allowed(c, p.resource(record)) {
			p.offer(c, string(record.Text))
		}
	}
	return nil
}

// resource returns an artifact as a resource of the policy.
func (p *planner) resource(record governance.Record) policy.Resource {
	producer := record.String("produced_by")
	r := policy.Resource{
		ID: record.String("id"), Kind: kindArtifact, Visibility: record.String("visibility"), Producer: producer, Sensitivity: record.String("sensitivity"),
	}
	if workspace.SafeID(producer) {
		r.Team = p.w.AgentTeam(producer)
	}
	return r
}

// files offers the files that everybody reads, and those of the worker.
func (p *planner) files() error {
	type base struct{ name, description string }
	all := []base{
		{"AGENTS.md", "guidance for everybody who works in this workspace"}, {workspace.CompanyFile, "the company"},
		{workspace.PolicyFile, "the policy of the company"}, {workspace.MemoryFile(p.ProjectID), "the memory of the project"},
	}
	if p.WorkerID != "" {
		for _, file := range []base{
			{"agent.yaml", "the worker"}, {"AGENTS.md", "the guidance of the worker"}, {"role.md", "the role of the worker"},
			{"skills_index.md", "the skills of the worker"}, {"context_index.md", "where the worker finds things"},
		} {
			all = append(all, base{path.Join(workspace.AgentDir(p.WorkerID), file.name), file.description})
		}
	}
	for i, file := range all {
		if !p.w.Exists(file.name) {
			continue
		}
		score := float64(scoreBase)
		if i == 0 {
			score = scoreWorkspace
		}
		p.offer(candidate{
			Entry{Layer: layerBase, SourceKind: kindFile, SourceID: file.name, Score: score, Reason: "base_context"},
			doc.ContextRef{Kind: kindFile, Value: file.name, Description: file.description},
		})
	}
	return nil
}

// memory offers the approved deltas of the project.
func (p *planner) memory() error {
	rows, err := governance.Deltas(p.w, p.ProjectID)
	if err != nil {
		return err
	}
	waiting := 0
	for _, row := range rows {
		c := candidate{
			Entry{
				Layer: layerMemory, SourceKind: "memory_delta", SourceID: row.ArtifactID, Score: scoreMemory, CreatedAt: row.CreatedAt,
				Reason: "approved_memory_delta", Visibility: row.Visibility, Sensitivity: row.Sensitivity,
			},
			doc.ContextRef{
				Kind: kindArtifact, Value: row.ArtifactID, Description: fmt.Sprintf("memory %s/%s: %s", row.ScopeKind, row.Sensitivity, row.Title),
			},
		}
		if row.Status != governance.Approved {
			if waiting++; waiting <= maxNotApproved {
				p.drop(c, "filtered_not_approved", "memory_delta_not_approved")
			}
			continue
		}
		if !p.allowed(c, row.Resource(p.w)) {
			continue
		}
		if row.ScopeKind == doc.ScopeAgent && row.ScopeRef != p.WorkerID {
			p.drop(c, "filtered_policy", "scope_mismatch")
			continue
		}
		record, err := governance.ReadArtifact(p.w, p.ProjectID, row.ArtifactID)
		if err != nil {
			continue // deleted since it was listed
		}
		p.offer(c, row.Title, row.Rationale, string(record.Body))
	}
	return nil
}

// trajectories offers the results of earlier work: digests and failure reports.
func (p *planner) trajectories() error {
	known, err := governance.Artifacts(p.w, p.ProjectID)
	if err != nil {
		return err
	}
	for _, a := range known {
		if a.Type != "manager_digest" && a.Type != "failure_report" {
			continue
		}
		c := candidate{
			Entry{
				Layer: layerTrajectory, SourceKind: kindArtifact, SourceID: a.ID, Score: scoreArtifact, CreatedAt: a.CreatedAt,
				Reason: "trajectory_" + a.Type, Visibility: a.Visibility,
			},
			doc.ContextRef{Kind: kindArtifact, Value: a.ID, Description: "trajectory " + a.Type + ": " + a.Title},
		}
		record, err := governance.ReadArtifact(p.w, p.ProjectID, a.ID)
		if err != nil || !p.allowed(c, p.resource(record)) {
			continue
		}
		p.offer(c, a.Title, string(record.Text))
	}
	return nil
}

// cycles offers the runs that ran out of context, as a warning.
func (p *planner) cycles() error {
	listed, err := runs.List(p.w, p.ProjectID)
	if err != nil {
		return err
	}
	for _, l := range listed {
		run, err := runs.Load(p.w, p.ProjectID, l.RunID)
		if err != nil || run.ContextCycles == nil || run.ContextCycles.Count <= 0 {
			continue
		}
		source := run.ContextCycles.Source
		if source == "" {
			source = "unknown"
		}
		p.offer(candidate{
			Entry{
				Layer: layerTrajectory, SourceKind: "run", SourceID: l.RunID, Score: scoreCycles, CreatedAt: run.CreatedAt,
				Reason: "recent_context_cycles",
			},
			doc.ContextRef{
				Kind: "note", Value: fmt.Sprintf("run=%s context_cycles=%d", l.RunID, run.ContextCycles.Count),
				Description: "recent context-cycle signal (" + source + ")",
			},
		})
	}
	return nil
}
