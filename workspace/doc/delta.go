package doc

// Memory deltas. Version 1 names the file that it changes. Version 2 adds whose memory that
// is, how sensitive it is, and why it should be remembered.

import (
	"path"
	"strings"

	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Scopes of a memory delta.
const (
	ScopeProject = "project_memory"
	ScopeAgent   = "agent_guidance"
)

// Sensitivities of a memory delta.
const (
	SensitivityPublic     = "public"
	SensitivityInternal   = "internal"
	SensitivityRestricted = "restricted"
)

// Scopes lists the scopes of memory deltas.
func Scopes() []string { return []string{ScopeProject, ScopeAgent} }

// Sensitivities lists the sensitivities of memory deltas, lowest first.
func Sensitivities() []string {
	return []string{SensitivityPublic, SensitivityInternal, SensitivityRestricted}
}

// DeltaVersion2 is the schema_version of deltas that have a DeltaScope.
const DeltaVersion2 = 2

// DeltaScope holds the fields that version 2 adds to a memory delta.
type DeltaScope struct {
	ScopeKind   string `json:"scope_kind,omitempty" is:"optional,enum=project_memory|agent_guidance"`
	ScopeRef    string `json:"scope_ref,omitempty" is:"optional"`
	Sensitivity string `json:"sensitivity,omitempty" is:"optional,enum=public|internal|restricted"`
	Rationale   string `json:"rationale,omitempty" is:"optional"`
}

// MemoryDelta is the front matter of a memory_delta.
type MemoryDelta struct {
	_ struct{} `is:"strict"`
	Artifact
	ProjectID  string `json:"project_id"`
	TargetFile string `json:"target_file"`
	PatchFile  string `json:"patch_file"`
	DeltaScope
	Evidence []string `json:"evidence" is:"optional"`
}

// Check checks the fields that depend on the version.
func (d *MemoryDelta) Check() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	if d.SchemaVersion != Version && d.SchemaVersion != DeltaVersion2 {
		refuse("schema_version", "must be 1 or 2")
		return issues
	}
	for _, f := range [][2]string{{"scope_kind", d.ScopeKind}, {"scope_ref", d.ScopeRef}, {"sensitivity", d.Sensitivity}, {"rationale", d.Rationale}} {
		switch {
		case d.SchemaVersion == Version && f[1] != "":
			refuse(f[0], "belongs to schema_version 2")
		case d.SchemaVersion == DeltaVersion2 && f[1] == "":
			refuse(f[0], "is required with schema_version 2")
		}
	}
	if d.SchemaVersion == DeltaVersion2 && len(d.Evidence) == 0 {
		refuse("evidence", "must have at least one item with schema_version 2")
	}
	return issues
}

// noRationale is the rationale of a delta that records none.
const noRationale = "No rationale was recorded with this delta."

// Scope returns the scope of a delta of any version. For version 1 it derives the scope from
// the file that the delta changes.
func (d *MemoryDelta) Scope() DeltaScope {
	if d.SchemaVersion == DeltaVersion2 {
		return d.DeltaScope
	}
	scope := DeltaScope{ScopeKind: ScopeProject, ScopeRef: d.ProjectID, Sensitivity: SensitivityInternal, Rationale: noRationale}
	if parts := strings.Split(path.Clean(d.TargetFile), "/"); len(parts) == 4 && parts[0] == "org" && parts[1] == "agents" && parts[3] == "AGENTS.md" {
		scope.ScopeKind, scope.ScopeRef = ScopeAgent, parts[2]
	}
	return scope
}

// MemoryDeltaCodec reads and writes both versions.
var MemoryDeltaCodec = yamldoc.For[MemoryDelta]()
