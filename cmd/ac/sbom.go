package main

// The bill of materials (SBOM) of a build, in the CycloneDX 1.6 format.

import (
	"cmp"
	"strings"
)

// bill is a bill of materials. It has no serial number, so that a build always has the same bill.
type bill struct {
	Schema       string           `json:"$schema"`
	Format       string           `json:"bomFormat"`
	SpecVersion  string           `json:"specVersion"`
	Version      int              `json:"version"` // of the bill itself
	Metadata     billMetadata     `json:"metadata"`
	Components   []billComponent  `json:"components"`
	Dependencies []billDependency `json:"dependencies"`
}

type billMetadata struct {
	Timestamp string        `json:"timestamp,omitempty"` // of the commit
	Component billComponent `json:"component"`
}

type billComponent struct {
	Type       string         `json:"type"`
	Ref        string         `json:"bom-ref"`
	Name       string         `json:"name"`
	Version    string         `json:"version"`
	Scope      string         `json:"scope,omitempty"`
	PURL       string         `json:"purl"`
	Properties []billProperty `json:"properties,omitempty"`
}

// billProperty holds the checksum of a module. That is a hash over a list of the module's files, so
// it does not fit the hashes of a component, which each cover one file.
type billProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type billDependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOf returns the bill of a build: the program, the standard library and the modules. A build
// does not record the dependencies between modules.
func billOf(facts buildFacts) bill {
	program := billComponent{Type: "application", Name: "ac", Version: facts.Version, PURL: packageURL("ac", facts.Version)}
	program.Ref = program.PURL
	program.Properties = []billProperty{{"ac:platform", facts.OS + "/" + facts.Arch}}
	if facts.Commit != nil {
		program.Properties = append(program.Properties, billProperty{"ac:commit", *facts.Commit})
	}
	b := bill{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: billMetadata{Component: program},
	}
	if facts.CommitTime != nil {
		b.Metadata.Timestamp = *facts.CommitTime
	}
	library := buildModule{Path: "stdlib", Version: strings.TrimPrefix(facts.Go, "go")}
	uses := billDependency{Ref: program.Ref}
	for _, module := range append([]buildModule{library}, facts.Modules...) {
		part := billComponent{Type: "library", Scope: "required", Name: module.Path, Version: module.Version, PURL: packageURL(module.Path, module.Version)}
		part.Ref = part.PURL
		if module.Sum != "" {
			part.Properties = []billProperty{{"golang:sum", module.Sum}}
		}
		b.Components = append(b.Components, part)
		uses.DependsOn = append(uses.DependsOn, part.Ref)
	}
	b.Dependencies = []billDependency{uses}
	return b
}

// packageURL returns the package URL of a module. Package URLs of Go modules are lower case.
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(cmp.Or(version, "unknown"), "+", "%2B")
}
