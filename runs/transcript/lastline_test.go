package transcript

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ac/events"
	"ac/runs/interaction"
)

func TestLastLine(t *testing.T) {
	t.Parallel()
	asked := interaction.Record{}
	asked.Title = "rm -r build"
	for name, c := range map[string]struct {
		item Item
		want string
	}{
		"a message":          {Item{Kind: KindMessage, Role: RoleAssistant, Text: "first\r\n  last words \n\n"}, "last words"},
		"nothing yet":        {Item{Kind: KindMessage, Role: RoleAssistant, Text: "\n \n"}, ""},
		"what a person said": {Item{Kind: KindMessage, Role: RoleUser, Text: "do it"}, ""},
		"a tool":             {Item{Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Name: "shell", Title: "go test ./...", OutputTail: "ok"}}, "go test ./..."},
		"a tool by name":     {Item{Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Name: "shell"}}, "shell"},
		"a question":         {Item{Kind: KindPermission, Role: RoleAssistant, Interaction: &asked}, "rm -r build"},
		"usage":              {Item{Kind: KindUsage, Role: RoleSystem, Usage: &Usage{TotalTokens: 3}}, ""},
	} {
		if got := LastLine(&c.item); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	long := LastLine(&Item{Kind: KindMessage, Role: RoleAssistant, Text: strings.Repeat("ä", 1000)})
	if len(long) > maxLastLine || !utf8.ValidString(long) || long == "" {
		t.Errorf("%d bytes", len(long))
	}
}

// TestLastLineOfARun compares the last line of a run with that of its newest item that has one,
// after each event of all logs. It skips logs with a cleared plan, whose line remains.
func TestLastLineOfARun(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, log := range logs(t) {
		if slices.ContainsFunc(log, func(e Event) bool { return e.Type == events.PlanCleared }) {
			continue
		}
		f := NewFold("proj_1")
		for i, e := range log {
			f.Apply(int64(i+1), e)
			wantLine, wantAt := "", ""
			for _, item := range slices.Backward(f.Items()) {
				if wantLine = LastLine(item); wantLine != "" {
					wantAt = cmp.Or(item.EndedAt, item.StartedAt)
					lines++
					break
				}
			}
			if line, at := f.LastLine(); line != wantLine || at != wantAt {
				t.Fatalf("after event %d (%s) it is %q at %s, not %q at %s", i+1, e.Type, line, at, wantLine, wantAt)
			}
		}
	}
	if lines == 0 {
		t.Error("no log has a line")
	}
}
