package terminal

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago       time.Duration
		age, took string
	}{
		{-time.Minute, "now", "-"}, {0, "now", "0.0s"}, {120 * time.Millisecond, "now", "0.1s"}, {9900 * time.Millisecond, "9s", "9.9s"},
		{9999 * time.Millisecond, "9s", "9s"}, {42 * time.Second, "42s", "42s"}, {312 * time.Second, "5m", "5m12s"},
		{2*time.Hour + 5*time.Minute, "2h", "2h05m"}, {76 * time.Hour, "3d", "3d04h"}, {42 * day, "6w", "42d00h"}, {250 * day, "2026-03", "250d00h"},
	} {
		if age, took := FormatAge(now.Add(-c.ago), now), FormatDuration(c.ago); age != c.age || took != c.took {
			t.Errorf("%s: age %q, want %q; took %q, want %q", c.ago, age, c.age, took, c.took)
		}
	}
	if got := FormatAge(time.Time{}, now); got != Unknown {
		t.Errorf("the age of an unknown time is %q", got)
	}
	for n, want := range map[int64]string{0: "0", 812: "812", 999: "999", 1000: "1.0k", 14_200: "14.2k", 99_949: "99.9k", 99_950: "100k", 310_400: "310k", 999_499: "999k", 999_500: "1.0M", 1_340_000: "1.3M"} {
		if got := FormatTokens(n); got != want {
			t.Errorf("%d tokens are %q, want %q", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "$0.00", 0.004: "<$0.01", 0.11: "$0.11", 9.02: "$9.02"} {
		if got := FormatCost(&usd); got != want {
			t.Errorf("%v dollars are %q, want %q", usd, got, want)
		}
	}
	if got := FormatCost(nil); got != Unknown {
		t.Errorf("an unknown cost is %q", got)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1974: "1,974", -1974: "-1,974", -974: "-974", 61204123: "61,204,123"} {
		if got := FormatGrouped(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func exampleTable(what string) Table {
	return Table{
		Columns: []Column{{Title: "RUN"}, {Title: "AGENT", MaxWidth: 14, Drop: 3}, {Title: "WHAT", Text: true}, {Title: "AGE", Right: true, Drop: 2}, {Title: "TOKENS", Right: true, Drop: 1}},
		Rows:    [][]Cell{{{Text: "4WKKE6"}, {Text: "Ann", Colour: Cyan}, {Text: what}, {Text: "2m"}, {Text: "14.2k"}}},
	}
}

func TestTableDropsColumnsBeforeItCuts(t *testing.T) {
	t.Parallel()
	table := exampleTable("Fix the flaky test in the payment client")
	for width, want := range map[int]string{
		80: "RUN     AGENT  WHAT                                      AGE  TOKENS\n4WKKE6  Ann    Fix the flaky test in the payment client   2m   14.2k",
		45: "RUN     AGENT  WHAT                       AGE\n4WKKE6  Ann    Fix the flaky test in th…   2m",
		36: "RUN     AGENT  WHAT\n4WKKE6  Ann    Fix the flaky test i…",
		30: "RUN     WHAT\n4WKKE6  Fix the flaky test in…",
		10: "RUN     W…\n4WKKE6  F…",
		5:  "RUN …\n4WKK…",
	} {
		got := strings.Join(table.Lines(width, false), "\n")
		if got != want {
			t.Errorf("in %d columns:\n%s\nwant:\n%s", width, got, want)
		}
	}
}

// TestNoLineIsWiderThanTheTerminal checks tables with any width and any text.
func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 200).Draw(t, "width")
		table := exampleTable(rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("翻訳é\u0301\x1b\t\u202e…")))).Draw(t, "what"))
		for _, line := range table.Lines(width, false) {
			if Columns(line) > width || strings.ContainsAny(line, "\x1b\t\n\r") {
				t.Fatalf("%q in %d columns", line, width)
			}
		}
		for _, line := range table.Lines(width, true) {
			bare := strings.NewReplacer("\x1b[36m", "", "\x1b[0m", "").Replace(line)
			if Columns(bare) > width || strings.Contains(bare, "\x1b") {
				t.Fatalf("%q in %d columns", line, width)
			}
		}
	})
}
