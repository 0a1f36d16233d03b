package provider

import (
	"path/filepath"
	"strings"
	"testing"

	"ac/runs/usage"
	"ac/workspace/doc"
)

// TestEveryFamilyIsWhole reports what is missing for an added CLI: its names, its table entry,
// its command lines, or a recording of its output.
func TestEveryFamilyIsWhole(t *testing.T) {
	t.Parallel()
	named := map[Driver]bool{}
	for _, p := range doc.Providers() {
		if p.Driver == "" {
			continue
		}
		named[p.Driver] = true
		if _, err := CLIOf(p.Name); err != nil {
			t.Errorf("%s: families() has no entry: %v", p.Name, err)
		}
		if doc.WorkerKindOf(p.Name) != string(p.Driver) {
			t.Errorf("%s: its name does not begin with that of its driver, %s, so that no job finds it", p.Name, p.Driver)
		}
		if policy := PolicyOf(doc.Machine{}, p.Name); p.Policy == nil && p.PolicyFrom == "" && policy.Channel == "" {
			t.Errorf("%s: doc.Providers() has no policy for it, nor names whose counts", p.Name)
		}
		if u := (&doc.Usage{Provider: p.Name, TotalTokens: 1000}); p.PolicyFrom != "" && !usage.Price(u, map[string]doc.RateCard{string(p.Driver): {}}) {
			t.Errorf("%s: its rate card may not stand under %s", p.Name, p.Driver)
		}
	}
	for _, f := range families() {
		if !named[f.driver] {
			t.Errorf("%s: doc.Providers() has no name for it", f.driver)
		}
		if f.triedWith == "" || len(f.adapters) == 0 {
			t.Errorf("%s: families() does not tell the release that it was tried with, or no way to reach it", f.driver)
		}
		for _, level := range []string{ReadOnly, Patch, RunCommands, Full} {
			call, err := f.cli.ForWork(Work{Program: "p", Prompt: "hello", Level: level})
			if err != nil || len(call.Argv) < 2 || (call.Stdin == nil && !strings.Contains(strings.Join(call.Argv, " "), "hello")) {
				t.Errorf("%s: no command line at level %s: %+v, %v", f.driver, level, call, err)
			}
		}
		recordings, err := filepath.Glob("../transcript/testdata/*" + string(f.driver) + "*")
		if err != nil || len(recordings) == 0 {
			t.Errorf("%s: runs/transcript/testdata has no recording of what it prints (scripts/agents makes one)", f.driver)
		}
	}
}
