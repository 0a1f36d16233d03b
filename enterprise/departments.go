package enterprise

// The departments that a company may have, and how they are chosen.

import (
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// Department is a preset department.
type Department struct {
	Key, Label, Charter string
	Provider            string // of director and workers
}

func (d Department) team() doc.Department {
	return doc.Department{DepartmentKey: d.Key, DepartmentLabel: d.Label, Charter: d.Charter}
}

// Departments returns the presets, those of an enterprise first.
func Departments() []Department {
	const codex, claude = doc.ProviderCodex, doc.ProviderClaudeCode
	return []Department{
		{"frontend", "Frontend", "Builds what users see and touch, and keeps it fast and accessible.", codex},
		{"backend", "Backend", "Builds the services and data stores that the product stands on.", codex},
		{"agent_resources", "Agent Resources", "Keeps agents well instructed, equipped and evaluated.", codex},
		{"marketing", "Marketing", "Explains the product to the people it is for, and listens to them.", claude},
		{"infra", "Infrastructure", "Runs build, deployment and operations, and keeps them reliable.", codex},
		{"data", "Data", "Turns what the company records into figures that decisions can rest on.", claude},
		{"engineering", "Engineering", "Designs, builds and maintains the product.", codex},
		{"operations", "Operations", "Keeps daily work running and removes what slows it down.", codex},
		{"qa", "QA", "Tests the product before users do, and keeps the tests honest.", codex},
		{"security", "Security", "Finds and closes weaknesses before somebody uses them.", codex},
		{"product", "Product", "Decides what to build next, for whom and why.", claude},
		{"design", "Design", "Shapes how the product looks, reads and behaves.", claude},
	}
}

// Modes of a company.
const (
	ModeEnterprise = "enterprise"
	ModeStandard   = "standard"
)

// preset returns the keys of a mode's default departments.
func preset(mode string) []string {
	if mode == ModeStandard {
		return []string{"engineering", "product"}
	}
	return []string{"frontend", "backend", "agent_resources", "marketing", "infra", "data"}
}

// Choose returns the departments with these keys, without duplicates and in order, and the
// unknown keys. Without keys it returns the mode's defaults. If no department is left, the
// error lists the known keys.
func Choose(mode string, keys []string) (chosen []Department, ignored []string, err error) {
	if len(keys) == 0 {
		keys = preset(mode)
	}
	all := Departments()
	for _, key := range keys {
		key = strings.ToLower(strings.TrimSpace(key))
		at := slices.IndexFunc(all, func(d Department) bool { return d.Key == key })
		switch {
		case at < 0:
			if !slices.Contains(ignored, key) {
				ignored = append(ignored, key)
			}
		case !slices.Contains(chosen, all[at]):
			chosen = append(chosen, all[at])
		}
	}
	if len(chosen) == 0 {
		known := make([]string, len(all))
		for i, d := range all {
			known[i] = d.Key
		}
		return nil, ignored, fault.New(fault.NotFound, "no department is left; choose among: %s", strings.Join(known, ", "))
	}
	return chosen, ignored, nil
}
