package transcript

import (
	"strings"
	"testing"
	"unicode/utf8"

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
