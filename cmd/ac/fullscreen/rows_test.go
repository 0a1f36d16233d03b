package fullscreen

import (
	"slices"
	"testing"

	"ac/snapshot/room"
	"ac/workspace"
)

// TestTaskable checks the order of agents: workers that accept prompts first, command runners last.
func TestTaskable(t *testing.T) {
	t.Parallel()
	got := taskable(map[string]room.Person{
		"agent_1": {Name: "Boss", Role: "manager", Provider: "claude"}, "agent_2": {Name: "Shell", Role: "worker", Provider: "cmd"},
		"agent_3": {Name: "Zoe", Role: "worker", Provider: "codex"}, "agent_4": {Name: "Ann", Role: "worker", Provider: "claude"},
		workspace.SecretaryPrefix + "p": {Name: "Aide", Role: "worker", Provider: "codex"},
	})
	if want := []string{"Ann", "Zoe", "Aide", "Boss", "Shell"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
