package main

// docs/protocol.md, generated from the method table.

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"ac/internal/shape"
	"ac/rpc"
)

var update = flag.Bool("update", false, "write docs/protocol.md anew")

// TestReference checks that docs/protocol.md matches the method table.
func TestReference(t *testing.T) {
	t.Parallel()
	const page = "../../docs/protocol.md"
	want := reference(rpc.NewTable(""))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale; write it anew: go test ./cmd/ac -run TestReference -update", page)
	}
}

// reference returns the methods of a table as a Markdown page.
func reference(t *rpc.Table) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, m := range t.Describe("").Methods {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nOrder: `%s`.", m.Name, m.Summary, m.Access)
		if m.Streams {
			b.WriteString(" Streams: needs a server, so `ac rpc:call` does not have it.")
		}
		if m.Strict {
			b.WriteString(" Unknown params are refused.")
		}
		b.WriteString("\n")
		writeParams(&b, m.Params)
		fmt.Fprintf(&b, "\nResult: %s\n", typeName(m.Result.Schema))
		writeFields(&b, m.Result.Schema)
	}
	return b.String()
}

const referenceHead = `# Methods

This page is generated from the method table by
` + "`go test ./cmd/ac -run TestReference -update`" + `. ` + "`ac protocol:schema`" + ` prints the same as an
OpenRPC document.

**Order**: a ` + "`read`" + ` waits for the earlier writes of its workspace and runs beside other
reads. Writes (` + "`write`" + `) run one by one, in order of arrival. A ` + "`wait`" + ` takes its first step
in order and then blocks no other request. An ` + "`inline`" + ` method is served at once. See
[architecture.md](architecture.md#order-of-requests).

The server ignores unknown params unless the method says otherwise; clients must ignore
unknown members of results.
Optional params may be absent, but not null.
`

func writeParams(b *strings.Builder, params []rpc.OpenRPCItem) {
	if len(params) == 0 {
		b.WriteString("\nNo params.\n")
		return
	}
	b.WriteString("\n| param | type | |\n|---|---|---|\n")
	for _, p := range params {
		need := "optional"
		if p.Required {
			need = "required"
		}
		if p.Schema.Default != nil {
			need = fmt.Sprintf("default `%v`", p.Schema.Default)
		}
		if p.Schema.Maximum != nil {
			need += fmt.Sprintf(", at most %v", *p.Schema.Maximum)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, typeName(p.Schema), need)
	}
}

// writeFields lists the members of an object, or of the objects in a list.
func writeFields(b *strings.Builder, s *shape.Schema) {
	if s.Type == "array" {
		s = s.Items
	}
	if s == nil || len(s.Properties) == 0 {
		return
	}
	b.WriteString("\n| member | type | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		always := "may be absent or null"
		if slices.Contains(s.Required, name) {
			always = ""
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeName(s.Properties[name]), always)
	}
}

// typeName describes a schema in a few words.
func typeName(s *shape.Schema) string {
	switch {
	case s == nil:
		return "any"
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, word := range s.Enum {
			words[i] = "`" + fmt.Sprint(word) + "`"
		}
		return strings.Join(words, ", ")
	case s.Type == "array":
		return "list of " + typeName(s.Items)
	case s.Type == "object" && s.AdditionalProperties != nil && s.Properties == nil:
		return "object by key"
	}
	return cmp.Or(s.Type, "any")
}
