package main

import (
	"runtime/debug"
	"testing"
)

// TestBuildFacts checks that unknown facts are null, and how a commit is displayed.
func TestBuildFacts(t *testing.T) {
	t.Parallel()
	if facts := factsOf(nil); facts.Commit != nil || facts.Dirty != nil || facts.CommitTime != nil || facts.Modules == nil || facts.commit() != "unknown" {
		t.Errorf("of nothing: %+v", facts)
	}
	facts := factsOf(&debug.BuildInfo{
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-20T14:59:44Z"}, {Key: "vcs.modified", Value: "true"}},
		Deps:     []*debug.Module{{Path: "a", Version: "v1"}, {Path: "b", Version: "v1", Replace: &debug.Module{Path: "c", Version: "v2", Sum: "h1:"}}},
	})
	if facts.commit() != "abc, with changes (2026-11-20T14:59:44Z)" || !*facts.Dirty {
		t.Errorf("%+v", facts)
	}
	if len(facts.Modules) != 2 || facts.Modules[1] != (buildModule{"c", "v2", "h1:"}) {
		t.Errorf("%+v", facts.Modules)
	}
}
