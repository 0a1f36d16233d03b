package execution

import (
	"strings"
	"testing"

	"ac/feed"
	"ac/runs/interaction"
	"ac/runs/transcript"
)

func opened(i transcript.Item) feed.TranscriptNotification {
	i.State = transcript.StateOpen
	return feed.TranscriptNotification{Op: transcript.Open, Item: &i}
}

func updated(i transcript.Item) feed.TranscriptNotification {
	n := opened(i)
	n.Op = transcript.Update
	return n
}

func closed(i transcript.Item) feed.TranscriptNotification {
	i.State = transcript.StateClosed
	return feed.TranscriptNotification{Op: transcript.Close, Item: &i}
}

func appended(id, field, text string) feed.TranscriptNotification {
	return feed.TranscriptNotification{Op: transcript.Append, ItemID: id, Field: field, Text: text}
}

func TestLiveText(t *testing.T) {
	t.Parallel()
	said := func(id, text string) transcript.Item {
		return transcript.Item{ID: id, Kind: transcript.KindMessage, Role: transcript.RoleAssistant, Text: text}
	}
	command := func(output string) transcript.Item {
		return transcript.Item{ID: "c", Kind: transcript.KindTool, Tool: &transcript.Tool{Kind: "execute", Title: "ls", Status: "completed", OutputTail: output}}
	}
	question := func(state string) transcript.Item {
		return transcript.Item{
			ID: "q", Kind: transcript.KindPermission, InteractionID: "int_1",
			Interaction: &interaction.Record{Request: interaction.Request{InteractionID: "int_1", Kind: interaction.Permission, Title: "Run ls?"}, State: state},
		}
	}
	for _, c := range []struct {
		name     string
		thoughts bool
		told     []feed.TranscriptNotification
		want     string
	}{
		{"an answer grows line by line", false, []feed.TranscriptNotification{
			opened(said("m", "o")), appended("m", "text", "ne\ntw"), appended("m", "text", "o\n"), closed(said("m", "one\ntwo\nthree")),
		}, "« one\n  two\n  three\n"},
		{"an answer that was another one is printed anew", false, []feed.TranscriptNotification{
			opened(said("m", "one\n")), updated(said("m", "two\n")), closed(said("m", "two\n")),
		}, "« one\n« two\n"},
		{"an answer goes on behind another item", false, []feed.TranscriptNotification{
			opened(said("m", "one\n")), closed(said("n", "between")), appended("m", "text", "two\n"), closed(said("m", "one\ntwo\n")),
		}, "« one\n« between\n« two\n"},
		{"a command is printed once it is over", false, []feed.TranscriptNotification{
			opened(command("")), appended("c", "tool.output_tail", "a\n"), closed(command("a\n")),
		}, "$ ls\n  a\n"},
		{"thoughts are left out", false, []feed.TranscriptNotification{
			closed(transcript.Item{ID: "r", Kind: transcript.KindReasoning, Text: "hm"}),
		}, ""},
		{"or printed", true, []feed.TranscriptNotification{
			closed(transcript.Item{ID: "r", Kind: transcript.KindReasoning, Text: "hm"}),
		}, "· hm\n"},
		{"what acts on a terminal is shown", false, []feed.TranscriptNotification{
			opened(said("m", "\x1b[31mred\n")), closed(said("m", "\x1b[31mred\n")),
		}, "« \\x1b[31mred\n"},
		{"an append to what is not open is passed over", false, []feed.TranscriptNotification{
			appended("m", "text", "one\n"),
		}, ""},
		{"a question says how it is answered", false, []feed.TranscriptNotification{
			opened(question(interaction.Open)), updated(question(interaction.Open)),
		}, transcript.Render(new(question(interaction.Open))) + "  (ac run:answer w r --interaction int_1)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			l := NewLiveText(&out, RunAnswer("w", "r"), c.thoughts)
			for _, n := range c.told {
				if err := l.Take(n); err != nil {
					t.Fatal(err)
				}
			}
			if out.String() != c.want {
				t.Errorf("printed\n%s\nwant\n%s", out.String(), c.want)
			}
		})
	}
}
