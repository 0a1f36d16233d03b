package governance

// Listing memory deltas of both versions with the decisions on them.

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"ac/governance/policy"
	"ac/workspace"
	"ac/workspace/doc"
)

// DeltaRow is a memory delta in a list.
type DeltaRow struct {
	ArtifactID string `json:"artifact_id"`
	Title      string `json:"title"`
	ProjectID  string `json:"project_id"`
	RunID      string `json:"run_id"`
	CreatedAt  string `json:"created_at"`
	Visibility string `json:"visibility"`
	ProducedBy string `json:"produced_by"`
	doc.DeltaScope
	Evidence      []string       `json:"evidence"`
	SourceVersion int            `json:"source_schema_version"`
	Status        string         `json:"status"`
	Decision      *DeltaDecision `json:"decision"`
}

// DeltaDecision is the newest decision on a delta.
type DeltaDecision struct {
	ReviewID  string  `json:"review_id"`
	Decision  string  `json:"decision"`
	ActorID   string  `json:"actor_id"`
	ActorRole string  `json:"actor_role"`
	CreatedAt string  `json:"created_at"`
	Notes     *string `json:"notes"`
}

// Deltas lists the memory deltas of a project, newest first, or those of all projects if project
// is "". It leaves out unreadable files and files whose name is not their id. An unknown project
// has none. The state of each delta comes from the review files.
func Deltas(w *workspace.Workspace, project string) (rows []DeltaRow, err error) {
	projects := []string{project}
	if project == "" {
		known, err := w.Projects()
		if err != nil {
			return nil, err
		}
		projects = projects[:0]
		for _, p := range known {
			projects = append(projects, p.ID)
		}
	} else if known, err := w.HasProject(project); !known {
		return nil, err
	}
	decided, err := newestDecisions(w)
	if err != nil {
		return nil, err
	}
	for _, id := range projects {
		heads, err := deltaHeads(w, id)
		if err != nil {
			return nil, err
		}
		for _, head := range heads {
			rows = append(rows, deltaRow(head, decided[Item{id, head.ID}]))
		}
	}
	slices.SortFunc(rows, func(a, b DeltaRow) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ArtifactID, a.ArtifactID))
	})
	return rows, nil
}

// deltaHeads reads the front matter of a project's deltas.
func deltaHeads(w *workspace.Workspace, project string) ([]doc.MemoryDelta, error) {
	known, err := Artifacts(w, project)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range known {
		if a.Type == "memory_delta" {
			names = append(names, a.ID+".md")
		}
	}
	return workspace.ReadEach(names, func(name string) (doc.MemoryDelta, error) {
		file := path.Join(workspace.ArtifactsDir(project), name)
		text, err := w.Read(file)
		if err != nil {
			return doc.MemoryDelta{}, err
		}
		record, err := ParseRecord(file, text)
		if err != nil {
			return doc.MemoryDelta{}, err
		}
		head, err := DecodeItem(record, doc.MemoryDeltaCodec)
		if err != nil {
			return head, err
		}
		return head, workspace.CheckID(file, project, head.ProjectID)
	}), nil
}

// newestDecisions returns the newest review of each memory delta.
func newestDecisions(w *workspace.Workspace) (map[Item]doc.Review, error) {
	reviews, err := Reviews(w, math.MaxInt)
	if err != nil {
		return nil, err
	}
	newest := map[Item]doc.Review{}
	for _, review := range reviews {
		item := Item{review.Subject.ProjectID, review.Subject.ArtifactID}
		before, ok := newest[item]
		later := cmp.Or(cmp.Compare(review.CreatedAt, before.CreatedAt), cmp.Compare(review.ID, before.ID)) > 0
		if review.Subject.Kind == KindMemoryDelta && (!ok || later) {
			newest[item] = review
		}
	}
	return newest, nil
}

func deltaRow(head doc.MemoryDelta, review doc.Review) DeltaRow {
	row := DeltaRow{
		ArtifactID: head.ID, Title: head.Title, ProjectID: head.ProjectID, RunID: head.RunID, CreatedAt: head.CreatedAt,
		Visibility: head.Visibility, ProducedBy: head.ProducedBy, DeltaScope: head.Scope(), Evidence: head.Evidence,
		SourceVersion: head.SchemaVersion, Status: Pending,
	}
	if row.Evidence == nil {
		row.Evidence = []string{}
	}
	if review.ID != "" {
		row.Status = review.Decision
		row.Decision = &DeltaDecision{review.ID, review.Decision, review.ActorID, review.ActorRole, review.CreatedAt, review.Notes}
	}
	return row
}

// ReadableDeltas returns the rows that an actor may read. It records no decision.
func ReadableDeltas(w *workspace.Workspace, rows []DeltaRow, actor policy.Actor) (readable []DeltaRow) {
	for _, row := range rows {
		q := policy.Question{Action: policy.Read, Actor: actor, Resource: row.Resource(w)}
		if policy.Ask(w, q).Decision.Allowed {
			readable = append(readable, row)
		}
	}
	return readable
}

// Resource returns the delta as a resource of the policy.
func (r DeltaRow) Resource(w *workspace.Workspace) policy.Resource {
	return policy.Resource{
		ID: r.ArtifactID, Kind: KindMemoryDelta, Visibility: r.Visibility, Producer: r.ProducedBy, Team: producerTeam(w, r.ProducedBy), Sensitivity: r.Sensitivity,
	}
}

// producerTeam returns the team of a producer, "" for none.
func producerTeam(w *workspace.Workspace, producer string) string {
	if !workspace.SafeID(strings.TrimSpace(producer)) {
		return ""
	}
	return w.AgentTeam(producer)
}
