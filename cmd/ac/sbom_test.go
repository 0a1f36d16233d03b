package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBillOfMaterials checks that the bill of materials matches the build and the requirements of
// CycloneDX 1.6: names, unique references, and dependencies that exist.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	time, commit := "2026-11-20T14:59:44Z", "abc"
	b := billOf(buildFacts{
		Version: "v1.2", Commit: &commit, CommitTime: &time, Go: "go1.26.8", OS: "linux", Arch: "amd64",
		Modules: []buildModule{{"github.com/Azure/x", "v2.0.0+incompatible", "h1:AAA="}, {"example.org/y", "", ""}},
	})
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.SpecVersion != "1.6" || b.Version != 1 || b.Metadata.Timestamp != time || b.Metadata.Component.Version != "v1.2" {
		t.Errorf("%s", text)
	}
	refs := []string{b.Metadata.Component.Ref}
	for _, c := range b.Components {
		if c.Type != "library" || c.Name == "" || !regexp.MustCompile(`^pkg:golang/[a-z0-9./_~-]+@[A-Za-z0-9.%_~-]+$`).MatchString(c.PURL) || slices.Contains(refs, c.Ref) {
			t.Errorf("%+v", c)
		}
		refs = append(refs, c.Ref)
	}
	want := []string{"pkg:golang/ac@v1.2", "pkg:golang/stdlib@1.26.8", "pkg:golang/github.com/azure/x@v2.0.0%2Bincompatible", "pkg:golang/example.org/y@unknown"}
	if !slices.Equal(refs, want) {
		t.Errorf("%q", refs)
	}
	if len(b.Dependencies) != 1 || b.Dependencies[0].Ref != refs[0] || !slices.Equal(b.Dependencies[0].DependsOn, refs[1:]) {
		t.Errorf("%+v", b.Dependencies)
	}
	if p := b.Components[1].Properties; len(p) != 1 || p[0].Value != "h1:AAA=" || strings.Contains(string(text), "hashes") {
		t.Errorf("%s", text)
	}
	if text, err := json.Marshal(billOf(factsOf(nil))); err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%v %s", err, text)
	}
}
