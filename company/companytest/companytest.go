// Package companytest creates hosts of workspaces for the tests of other packages.
package companytest

import (
	"testing"

	"ac/company"
	"ac/workspace"
)

// New creates a host that has no workspace open. It is closed when the test ends.
func New(t testing.TB) *company.Host {
	t.Helper()
	all := company.New(company.Options{Env: workspace.SystemEnv()})
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return all
}
