//go:build !linux

package main

import (
	"math/rand/v2"
	"testing"
)

// family is the processes of one session. This system does not show them.
type family struct {
	supervisor int
	starts     string
}

func families(string) []family  { return nil }
func (family) has(string) bool  { return false }
func (family) kill(string) bool { return false }

// stormyCompany skips the test: separate hosts need Linux.
func stormyCompany(t *testing.T, _ *rand.Rand) (*company, func(bool)) {
	t.Helper()
	t.Skip("SKIPPED: separate hosts need Linux")
	return nil, nil
}
