// Package clitest supports tests of commands with golden files and sample runs.
package clitest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ac/company"
)

// Runs returns runs in all states, with fixed ids and times.
func Runs(now time.Time) company.RunRows {
	row := func(end, state, status, agent, what string, ago time.Duration) company.RunRow {
		r := company.RunRow{RunID: "run_01M7YTJ74WV2FK6GPF" + end, ProjectID: "proj_1", State: state, Status: status, Agent: &agent, CreatedAt: new(now.Add(-ago).Format(time.RFC3339))}
		if what != "" {
			r.What = &what
		}
		return r
	}
	list := company.RunRows{More: 1974, Rows: []company.RunRow{
		row("4WKKE6", company.StateAsks, "running", "Ann", "Fix the flaky test in the payment client and explain what made it flaky", 2*time.Minute),
		row("KHQ2Z9", company.StateRunning, "running", "Ben", "Write the release notes of 2.4", 40*time.Second),
		row("MCWEF6", "exit 3", "failed", "Shell", "sh -c 'echo built; exit 3'", time.Hour),
		row("9F3T0B", company.StateDone, "ended", "Claude", "翻訳を確認する: strings/ja.json と strings/ko.json を見てください", 3*time.Hour),
		row("Q7D1MV", company.StateStopped, "stopped", "Ann", "codex exec --json 'bump\x1b[2J it'", 50*time.Hour),
		row("ZV55XA", company.StateNew, "running", "A manager with a long name", "", 51*time.Hour),
	}}
	for i, figures := range []struct {
		took, cost float64
		tokens     int64
	}{{130, 0.11, 14_200}, {40, 0, 3100}, {0.1, 0, 2}, {312, 0.64, 88_000}, {3840, 9.02, 1_300_000}} {
		r := &list.Rows[i]
		r.TookS, r.Tokens, r.TokensEstimated = &figures.took, &figures.tokens, figures.cost == 0
		if figures.cost > 0 {
			r.CostUSD = &figures.cost
		}
	}
	for _, r := range list.Rows {
		list.IDs = append(list.IDs, r.RunID)
	}
	return list
}

// Golden compares a text with a golden file, or writes the file.
func Golden(t *testing.T, write bool, file, got string) {
	t.Helper()
	if write {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs:\n%s", file, got)
	}
}
