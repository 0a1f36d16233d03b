package rpc

// What a client can learn about the server before its first request.

import (
	"context"
	"slices"

	"ac/company"
	"ac/workspace/doc"
)

// Capabilities is the result of system.capabilities.
type Capabilities struct {
	Server        ServerInfo   `json:"server"`
	ServerID      string       `json:"server_id"`
	Protocol      string       `json:"protocol"`
	Methods       []Capability `json:"methods"`
	Notifications []string     `json:"notifications"`
	Limits        Limits       `json:"limits"`

	ProtocolVersion  string              `json:"protocol_version"`
	AvailableMethods []string            `json:"available_methods"`
	Context          ContextCapabilities `json:"context"`
	Memory           MemoryCapabilities  `json:"memory"`
	Retrieval        Retrieval           `json:"retrieval"`
}

// ContextCapabilities describes how the server plans contexts.
type ContextCapabilities struct {
	LayersVersion int `json:"layers_version"`
	// AutoDefault is whether jobs plan their context by default.
	AutoDefault bool `json:"job_submit_auto_default"`
}

// MemoryCapabilities describes the memory deltas that the server reads and writes, and what listing
// them requires.
type MemoryCapabilities struct {
	WriteSchemaVersion   int      `json:"write_schema_version"`
	ParseSupported       []int    `json:"parse_supported"`
	ListRequiresActor    bool     `json:"list_requires_actor"`
	ListRequiredParams   []string `json:"list_required_params"`
	SessionCandidateMode string   `json:"session_candidate_mode"`
	ScopeKinds           []string `json:"scope_kind"`
	Sensitivities        []string `json:"sensitivity"`
}

// Retrieval is the storage that context plans are retrieved from.
type Retrieval struct {
	Storage string `json:"storage"`
}

// ServerInfo names the program.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Capability is one method of the server.
type Capability struct {
	Name   string `json:"name"`
	Access Access `json:"access"`
}

// Limits holds the limits of the transport.
type Limits struct {
	LineBytes int `json:"line_bytes"`
	Depth     int `json:"depth"`
	InFlight  int `json:"in_flight"`
	Waiting   int `json:"waiting"`
}

func (t *Table) capabilities(version string) func(*company.Host, context.Context, Nothing) (Capabilities, error) {
	return func(all *company.Host, _ context.Context, _ Nothing) (Capabilities, error) {
		c := Capabilities{
			Server: ServerInfo{"ac", version}, ServerID: all.ServerID(), Protocol: "v1", Methods: []Capability{}, Notifications: []string{"events.notification", "transcript.notification", "room.notification", "terminal.output", "terminal.exited"},
			Limits:          Limits{MaxLine, maxDepth, maxInFlight, maxWaiting},
			ProtocolVersion: "v1", AvailableMethods: []string{}, Context: ContextCapabilities{LayersVersion: 1},
			Memory: MemoryCapabilities{
				WriteSchemaVersion: doc.DeltaVersion2, ParseSupported: []int{doc.Version, doc.DeltaVersion2},
				ListRequiresActor: true, ListRequiredParams: []string{"actor_id", "actor_role"}, SessionCandidateMode: "review_only",
				ScopeKinds: doc.Scopes(), Sensitivities: doc.Sensitivities(),
			},
			Retrieval: Retrieval{Storage: "sqlite_metadata"},
		}
		for _, m := range t.methods {
			c.Methods = append(c.Methods, Capability{m.Name, m.Access})
			c.AvailableMethods = append(c.AvailableMethods, m.Name)
		}
		slices.Sort(c.AvailableMethods)
		return c, nil
	}
}
