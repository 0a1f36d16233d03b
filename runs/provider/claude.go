package provider

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ac/internal/shape"
)

// claudeCLI drives claude --print: the prompt on stdin, and stream-json on stdout if the program
// supports it together with the other options. Options that take a list use the form
// --name=value, so that they cannot swallow the words after them.
type claudeCLI struct{}

func (claudeCLI) ForWork(w Work) (Call, error) {
	format := "stream-json"
	if w.Schema != "" && !w.Stream {
		format = "json" // releases that support a schema but not streaming
	}
	argv := slices.Concat([]string{w.Program}, option("--model", w.Model), claudeFormat(format), claudeRights(w.Level, w.AllowedTools),
		option("--json-schema", w.Schema))
	return Call{Argv: argv, Stdin: &w.Prompt, Format: format}, nil
}

func (claudeCLI) ForFilling(f Filling) Call {
	argv := slices.Concat([]string{f.Program}, option("--model", f.Model), claudeFormat("stream-json"), []string{
		"--no-session-persistence", "--permission-mode", "dontAsk", "--tools=",
	})
	return Call{Argv: argv, Stdin: &f.Prompt, Format: "stream-json"}
}

func claudeFormat(format string) []string {
	argv := []string{"--print", "--output-format", format}
	if format == "stream-json" {
		argv = append(argv, "--verbose", "--include-partial-messages")
	}
	return argv
}

func (claudeCLI) Abilities() (args []string, words AbilityWords) {
	return []string{"--help"}, AbilityWords{Schema: "--json-schema", Stream: "stream-json"}
}

// longAnswer is the number of characters from which a single text counts as the whole answer.
const longAnswer = 200

// Answer parses stream-json output. It returns the last result, else the texts of lines that
// look final, else the texts of all other lines, joined. A message that repeats the preceding
// deltas counts once.
func (claudeCLI) Answer(output, _ string) (string, error) {
	result := ""
	var final []string
	var fragments, pieces strings.Builder
	for line := range strings.Lines(output) {
		v, ok := parseLine(line)
		if !ok || v.Kind != shape.Map {
			continue
		}
		kind, text := v.Get("type"), v.Get("result")
		if kind.Text == "result" && text.Kind == shape.String && strings.TrimSpace(text.Text) != "" {
			result = text.Text
		}
		if finalLike(&v) {
			for _, t := range texts(&v) {
				if !slices.Contains(final, t) {
					final = append(final, t)
				}
			}
			continue
		}
		for _, t := range texts(&v) {
			whole := kind.Text == "assistant"
			if !whole || t != pieces.String() {
				fragments.WriteString(t)
			}
			if whole {
				pieces.Reset()
			} else {
				pieces.WriteString(t)
			}
		}
	}
	switch {
	case result != "":
		return result, nil
	case len(final) > 0:
		return choose(final)
	}
	return answerOr(fragments.String())
}

// choose returns the longest of several final texts if it is long enough, else all of them
// joined.
func choose(found []string) (string, error) {
	longest := slices.MaxFunc(found, func(a, b string) int { return utf8.RuneCountInString(a) - utf8.RuneCountInString(b) })
	if len(found) == 1 || utf8.RuneCountInString(longest) >= longAnswer {
		return longest, nil
	}
	return strings.Join(found, ""), nil
}

func finalLike(v *shape.Value) bool {
	for _, word := range []string{"result", "final", "complete", "completed", "message_stop"} {
		if strings.Contains(v.Get("type").Text, word) {
			return true
		}
	}
	for _, key := range []string{"result", "completion", "output_text"} {
		if v.Get(key).Kind != shape.Absent {
			return true
		}
	}
	return false
}

// texts collects the texts of one line, without duplicates.
func texts(v *shape.Value) (found []string) {
	var visit func(v *shape.Value, depth int)
	visit = func(v *shape.Value, depth int) {
		if depth > maxAnswerDepth {
			return
		}
		if v.Kind == shape.List {
			for i := range v.Items {
				visit(&v.Items[i], depth+1)
			}
			return
		}
		for _, key := range []string{"text", "result", "output_text", "completion", "content"} {
			t := v.Get(key)
			if t.Kind == shape.String && strings.TrimSpace(t.Text) != "" && !slices.Contains(found, t.Text) {
				found = append(found, t.Text)
			}
		}
		for _, key := range []string{"content", "delta", "message", "result"} {
			if inner := v.Get(key); inner.Kind == shape.Map || inner.Kind == shape.List {
				visit(inner, depth+1)
			}
		}
	}
	visit(v, 0)
	return found
}
