package provider

// Extracting text from JSON-lines output.

import (
	"slices"
	"strings"

	"ac/internal/canonjson"
	"ac/internal/param"
	"ac/internal/shape"
)

// maxAnswerDepth bounds the recursion into one line's JSON value.
const maxAnswerDepth = 8

// WithoutEchoes returns output without the JSON lines that echo the agent's input: prompts and
// tool results. Gemini and the app server print the prompt, including its example of an answer.
func WithoutEchoes(output string) string {
	var kept strings.Builder
	for line := range strings.Lines(output) {
		if v, ok := parseLine(line); ok && v.Kind == shape.Map && isEcho(&v) {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// isEcho reports whether an event echoes input to the agent.
func isEcho(v *shape.Value) bool {
	params := v.Get("params")
	item := params.Get("item")
	switch v.Get("type").Text {
	case "message":
		return v.Get("role").Text == "user"
	case "user":
		return true
	}
	return item.Get("type").Text == "userMessage"
}

// LongestText returns the longest text in JSON-lines output, "" if there is none.
func LongestText(output string) (longest string) {
	for line := range strings.Lines(output) {
		v, ok := parseLine(line)
		if !ok {
			continue
		}
		eachText(&v, 0, func(text string) {
			if len(text) > len(longest) {
				longest = text
			}
		})
	}
	return longest
}

func eachText(v *shape.Value, depth int, visit func(string)) {
	if depth > maxAnswerDepth {
		return
	}
	for i := range v.Items {
		item := &v.Items[i]
		if v.Kind == shape.Map && item.Kind == shape.String {
			if slices.Contains([]string{"text", "output_text", "content", "message", "result", "completion", "delta"}, v.Keys[i]) && strings.TrimSpace(item.Text) != "" {
				visit(item.Text)
			}
		}
		eachText(item, depth+1, visit)
	}
}

func parseLine(line string) (shape.Value, bool) {
	line = strings.TrimSpace(line)
	if line == "" || (line[0] != '{' && line[0] != '[') || tooDeep(line) {
		return shape.Value{}, false
	}
	end, err := canonjson.Value([]byte(line), 0)
	if err != nil || end != len(line) {
		return shape.Value{}, false
	}
	return param.Parse([]byte(line)), true
}

// maxNesting bounds the nesting depth of a line; deeper lines are not parsed.
const maxNesting = 512

func tooDeep(line string) bool {
	return strings.Count(line, "{")+strings.Count(line, "[") > maxNesting && canonjson.Depth([]byte(line)) > maxNesting
}
