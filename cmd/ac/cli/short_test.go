package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/cmd/ac/cli/clitest"
	"ac/company"
)

var update = flag.Bool("update", false, "write the recorded screens anew")

func TestLookup(t *testing.T) {
	t.Parallel()
	known := []Candidate{
		{ID: "agent_01M7WQGTGTXSZWKNSAQVRS4PJE", Name: "Ann"}, {ID: "agent_01M7WQGTGTXSZWKNSAQV4PJE2A", Name: "ann"},
		{ID: "agent_01M7WQGTGTXSZWKNSAQVRS4PJF", Name: "Ben", Line: "worker"}, {ID: "agent_01M7WQGTGTXSZWKNSAQW004PJF", Name: "ben2"},
	}
	for word, want := range map[string]string{
		known[0].ID: known[0].ID, "Ann": known[0].ID, "ann": known[1].ID, "ben": known[2].ID, "RS4PJE": known[0].ID, "…rs4pje": known[0].ID,
		"ANN": "ANN is 2 agents; say more of it", "4PJF": "4PJF is 2 agents; say more of it", "Bem": "agent Bem does not exist in Acme; did you mean Ben or ben2?",
		"PJE": "agent PJE does not exist in Acme; there are: Ann, ann, Ben, ben2",
	} {
		found, err := Lookup("agent", word, "Acme", known)
		if err != nil {
			found.ID = err.Error()
		}
		if found.ID != want {
			t.Errorf("%s: %s, want %s", word, found.ID, want)
		}
	}
	_, err := Lookup("agent", "4PJF", "Acme", known)
	if choice, ok := errors.AsType[ChoiceError](err); !ok || !slices.Equal(choice.Lines, []string{"RS4PJF  Ben  worker", "004PJF  ben2"}) {
		t.Errorf("the candidates of 4PJF are %q", choice.Lines)
	}
}

func TestUnknownNamesAreBounded(t *testing.T) {
	t.Parallel()
	var known []Candidate
	for i := range 30 {
		known = append(known, Candidate{ID: fmt.Sprintf("team_%026d", i), Name: fmt.Sprintf("Team number %d", i)})
	}
	_, err := Lookup("team", "X", "Acme", known)
	if err == nil || !strings.HasSuffix(err.Error(), "Team number 9, … 20 more") {
		t.Errorf("the names are %v", err)
	}
	_, err = Lookup("team", "9999", "Acme", known)
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no id ends in 9999: %v", err)
	}
}

// TestEndingsAreUniqueAndFound checks that each displayed ending identifies one id, unless it is
// the whole id.
func TestEndingsAreUniqueAndFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`run_[0-9A-B]{4,9}`), rapid.ID[string]).Draw(t, "ids")
		short := Endings(ids)
		for _, id := range ids {
			hits := 0
			for _, other := range ids {
				if strings.HasSuffix(other, short[id]) {
					hits++
				}
			}
			if hits != 1 && short[id] != id || !strings.HasSuffix(id, short[id]) || len(short[id]) < min(len(id), ShownEnding) {
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
		if got := strings.Join(commandFirst(strings.Fields(given)), " "); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}

// TestRunTables compares the list of runs with golden files at two widths.
func TestRunTables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	c := &Call{App: &App{}, Now: now, Scope: Scope{Project: "proj_1", Projects: []Candidate{{ID: "proj_1", Name: "Checkout"}}}}
	list := clitest.Runs(now)
	for i := range list.Rows { // how the locale selects the signs is tested elsewhere
		if sign, plain := signOf(&list.Rows[i], true), signOf(&list.Rows[i], false); sign == plain || len(plain) != 1 {
			t.Errorf("%s has the signs %q and %q", list.Rows[i].State, sign, plain)
		}
	}
	for _, width := range []int{80, 140} {
		var b strings.Builder
		for _, project := range []string{"proj_1", ""} {
			c.Project = project
			table := c.RunTable(list, true)
			b.WriteString(strings.Join(table.Lines(width, false), "\n") + "\n\n")
		}
		clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/ps-%d.txt", width), b.String())
	}
}

func signOf(r *company.RunRow, unicode bool) string {
	sign, _ := StateSign(r, unicode)
	return sign
}

// TestStdoutMayBeATerminal checks that a terminal is recognized through Output, the wrapper of the
// program's stdout. Otherwise a printed patch could send escape codes to the terminal.
func TestStdoutMayBeATerminal(t *testing.T) {
	t.Parallel()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("SKIPPED: a pseudo terminal needs /dev/ptmx: ", err)
	}
	defer func() { _ = pty.Close() }() // nothing was written
	if !(&App{Stdout: &Output{File: pty}}).OnTerminal() {
		t.Error("stdout is a terminal and is not taken for one")
	}
	if (&App{Stdout: &bytes.Buffer{}}).OnTerminal() {
		t.Error("a buffer is taken for a terminal")
	}
}
