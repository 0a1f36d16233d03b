package dialect

// Lookup of agents by ids and names that clients and options use.

import (
	"strings"

	"ac/company"
)

// FindAgent finds an agent by its id or name. An exact match takes precedence over one that ignores
// case.
func FindAgent(rows []company.AgentRow, name string) (company.AgentRow, bool) {
	for _, means := range []func(company.AgentRow) bool{
		func(a company.AgentRow) bool { return a.AgentID == name },
		func(a company.AgentRow) bool { return a.Name == name },
		func(a company.AgentRow) bool {
			return strings.EqualFold(a.AgentID, name) || strings.EqualFold(a.Name, name)
		},
	} {
		for _, a := range rows {
			if means(a) {
				return a, true
			}
		}
	}
	return company.AgentRow{}, false
}
