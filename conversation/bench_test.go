package conversation

// Benchmarks of sending and listing.

import (
	"context"
	"os"
	"strings"
	"testing"

	"ac/workspace"
	"ac/workspace/doc"
)

func BenchmarkNewest(b *testing.B) {
	w := newWorkspace(b)
	m := doc.Message{
		SchemaVersion: 1, Type: "message", ID: "msg_1", ConversationID: workspace.HomeID, CreatedAt: "2026-01-01T00:00:00.000Z",
		AuthorID: "human_ceo", AuthorRole: "ceo", Kind: "text", Visibility: "org", Body: strings.Repeat("words ", 20), Mentions: []string{},
	}
	line, err := m.Line()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(home(w), []byte(strings.Repeat(string(line), 100_000)), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := Newest(w, Space{}, workspace.HomeID, 300); err != nil || len(got) != 300 {
			b.Fatal(len(got), err)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	w := newWorkspace(b)
	for b.Loop() {
		if _, _, err := Send(context.Background(), w, Space{}, workspace.HomeID, says("hello")); err != nil {
			b.Fatal(err)
		}
	}
}
