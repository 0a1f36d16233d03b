package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/company"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	known := []candidate{
		{id: "agent_01M7WQGTGTXSZWKNSAQVRS4PJE", name: "Ann"}, {id: "agent_01M7WQGTGTXSZWKNSAQV4PJE2A", name: "ann"},
		{id: "agent_01M7WQGTGTXSZWKNSAQVRS4PJF", name: "Ben", line: "worker"}, {id: "agent_01M7WQGTGTXSZWKNSAQW004PJF", name: "ben2"},
	}
	for word, want := range map[string]string{
		known[0].id: known[0].id, "Ann": known[0].id, "ann": known[1].id, "ben": known[2].id, "RS4PJE": known[0].id, "…rs4pje": known[0].id,
		"ANN": "ANN is 2 agents; say more of it", "4PJF": "4PJF is 2 agents; say more of it", "Bem": "agent Bem does not exist in Acme; did you mean Ben or ben2?",
		"PJE": "agent PJE does not exist in Acme; there are: Ann, ann, Ben, ben2",
	} {
		found, err := lookup("agent", word, "Acme", known)
		if err != nil {
			found.id = err.Error()
		}
		if found.id != want {
			t.Errorf("%s: %s, want %s", word, found.id, want)
		}
	}
	_, err := lookup("agent", "4PJF", "Acme", known)
	if choice, ok := errors.AsType[choiceError](err); !ok || !slices.Equal(choice.lines, []string{"RS4PJF  Ben  worker", "004PJF  ben2"}) {
		t.Errorf("the candidates of 4PJF are %q", choice.lines)
	}
}

func TestUnknownNamesAreBounded(t *testing.T) {
	t.Parallel()
	var known []candidate
	for i := range 30 {
		known = append(known, candidate{id: fmt.Sprintf("team_%026d", i), name: fmt.Sprintf("Team number %d", i)})
	}
	_, err := lookup("team", "X", "Acme", known)
	if err == nil || !strings.HasSuffix(err.Error(), "Team number 9, … 20 more") {
		t.Errorf("the names are %v", err)
	}
	_, err = lookup("team", "9999", "Acme", known)
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no id ends in 9999: %v", err)
	}
}

// TestEndingsAreUniqueAndFound holds the ends of ids that people see to what they may type.
func TestEndingsAreUniqueAndFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`run_[0-9A-B]{4,9}`), rapid.ID[string]).Draw(t, "ids")
		short := endings(ids)
		for _, id := range ids {
			hits := 0
			for _, other := range ids {
				if strings.HasSuffix(other, short[id]) {
					hits++
				}
			}
			if hits != 1 && short[id] != id || !strings.HasSuffix(id, short[id]) || len(short[id]) < min(len(id), shownEnding) {
				t.Fatalf("%s is shown as %q, which %d ids end in", id, short[id], hits)
			}
		}
	})
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for words, want := range map[[2]string]int{{"", ""}: 0, {"ann", "ann"}: 0, {"projct", "project"}: 1, {"chekout", "checkout"}: 1, {"abc", "cba"}: 2, {"a", "abcdef"}: 3, {"kitten", "sitting"}: 3} {
		if got := editDistance(words[0], words[1]); got != want {
			t.Errorf("from %q to %q are %d steps, want %d", words[0], words[1], got, want)
		}
	}
}

func TestHoist(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"ps -a":                      "ps -a",
		"-C w ps -a":                 "ps -C w -a",
		"-C w -p P --json -q logs x": "logs -C w -p P --json -q x",
		"--project=P ps":             "ps --project=P",
		"-C w run:list w":            "-C w run:list w",
		"-C w":                       "-C w",
		"-C":                         "-C",
		"--version":                  "--version",
	} {
		if got := strings.Join(hoist(strings.Fields(given)), " "); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{0: "a\nb\nc\nd\ne", 1: "c\nd\ne", 2: "b\nc\nd\ne", 9: "a\nb\nc\nd\ne"} {
		var out bytes.Buffer
		l := newLastLines(&out, most)
		for _, chunk := range []string{"a\nb", "\nc", "\n"} {
			if _, err := l.Write([]byte(chunk)); err != nil {
				t.Fatal(err)
			}
		}
		l.passOn()
		if _, err := l.Write([]byte("d\ne")); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("the last %d lines are %q, want %q", most, out.String(), want)
		}
	}
}

// shownRuns are runs in all states, with fixed ids and times.
func shownRuns(now time.Time) company.RunRows {
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

// TestRunTables compares the list of runs with what is recorded, at two widths.
func TestRunTables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	c := &call{app: &app{}, now: now, scope: scope{project: "proj_1", projects: []candidate{{id: "proj_1", name: "Checkout"}}}}
	list := shownRuns(now)
	for i := range list.Rows { // the signs of the locale are tried elsewhere
		if sign, plain := signOf(&list.Rows[i], true), signOf(&list.Rows[i], false); sign == plain || len(plain) != 1 {
			t.Errorf("%s has the signs %q and %q", list.Rows[i].State, sign, plain)
		}
	}
	for _, width := range []int{80, 140} {
		var b strings.Builder
		for _, project := range []string{"proj_1", ""} {
			c.project = project
			table := c.runTable(list, true)
			b.WriteString(strings.Join(table.Lines(width, false), "\n") + "\n\n")
		}
		golden(t, *update, fmt.Sprintf("testdata/screens/ps-%d.txt", width), b.String())
	}
}

func signOf(r *company.RunRow, unicode bool) string {
	sign, _ := stateSign(r, unicode)
	return sign
}

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, write bool, file, got string) {
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

// TestStdoutMayBeATerminal looks at stdout as the program has it: behind the writer that
// remembers errors. A patch that is printed there must not act on the terminal.
func TestStdoutMayBeATerminal(t *testing.T) {
	t.Parallel()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("SKIPPED: a terminal of one's own needs /dev/ptmx: ", err)
	}
	defer func() { _ = pty.Close() }() // nothing was written that could be lost
	if !(&app{stdout: &output{file: pty}}).onTerminal() {
		t.Error("stdout is a terminal and is not taken for one")
	}
	if (&app{stdout: &bytes.Buffer{}}).onTerminal() {
		t.Error("a buffer is taken for a terminal")
	}
}
