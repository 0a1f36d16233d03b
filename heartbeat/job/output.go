package job

// Reading a worker's output: the right file, the text in it, and the JSON
// values that may be its answer.

import (
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"ac/internal/lazyregexp"
	"ac/internal/shape"
	"ac/runs/provider"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxOutput bounds how much of an output's end is read, in bytes.
const maxOutput = 4 << 20

// outputFiles are the files that may contain an answer, the best first. The
// other outputs of the run are ours.
var outputFiles = []string{"result_spec.json", "result_spec.jsonl", "last_message.md", "stdout.txt", "stderr.txt"}

// spokenFiles are those of them that a live session leaves.
var spokenFiles = []string{"result_spec.json", "result_spec.jsonl", "last_message.md"}

// printedFiles are those that a command leaves: its last message is ours, and not the
// whole of a long output.
var printedFiles = []string{"result_spec.json", "result_spec.jsonl", "stdout.txt", "stderr.txt"}

// output returns the first non-blank output of an attempt.
func output(w *workspace.Workspace, project, run string) (name, text string) {
	names := outputFiles
	switch {
	case wasSpoken(w, project, run):
		names = spokenFiles
	case wasCommand(w, project, run):
		names = printedFiles
	}
	for _, name := range names {
		if name == "stdout.txt" {
			if text, ok := lastPrinted(w, project, run); ok {
				return name, text
			}
		}
		text := outputFile(w, project, run, name)
		if strings.TrimSpace(text) != "" {
			return name, text
		}
	}
	return "", ""
}

// outputFile is the end of one file of a run's outputs.
func outputFile(w *workspace.Workspace, project, run, name string) string {
	return tail(w, path.Join(workspace.RunDir(project, run), "outputs", name), maxOutput)
}

// tail is the end of a file; nothing of one that cannot be read.
func tail(w *workspace.Workspace, name string, limit int64) string {
	if st, err := w.FS.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return "" // a symlink may lead anywhere
	}
	f, err := w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-limit), limit))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// explain describes why a session failed: its exit and the agent's own words,
// else its error or exit and the end of its stderr.
func explain(w *workspace.Workspace, p jobRef, a doc.JobAttempt, s doc.Session) string {
	var parts []string
	switch {
	case s.Error != "" && s.ErrorKind != "" && s.ExitCode != nil && *s.ExitCode != 0:
		return "exit code " + strconv.Itoa(*s.ExitCode) + ": " + s.Error
	case s.Error != "" && s.ErrorKind != "":
		return s.Error
	case s.Error != "":
		parts = append(parts, s.Error)
	case s.Signal != nil:
		parts = append(parts, "ended by "+*s.Signal)
	case s.ExitCode != nil && *s.ExitCode != 0:
		parts = append(parts, "exit code "+strconv.Itoa(*s.ExitCode))
	default:
		parts = append(parts, "the run ended as "+s.Status)
	}
	stderr := []rune(strings.TrimSpace(tail(w, path.Join(workspace.RunDir(p.project, a.RunID), "outputs", "stderr.txt"), 4<<10)))
	words := string(stderr[max(0, len(stderr)-500):])
	if words != "" && !strings.Contains(s.Error, words) { // the end of a turn has them
		parts = append(parts, words)
	}
	return strings.Join(parts, ": ")
}

// textOf extracts the answer from an output.
func textOf(file, providerName, text string) string {
	if file == "last_message.md" {
		return text
	}
	text = provider.WithoutEchoes(text)
	var found string
	cli, err := provider.CLIOf(providerName)
	if err != nil || provider.DriverOf(providerName) == provider.Codex {
		err = nil
		if found = lastMessage(text); found == "" {
			found = provider.LongestText(text)
		}
	} else {
		found, err = cli.Answer(text, "")
	}
	if err != nil || strings.TrimSpace(found) == "" {
		return text
	}
	return found
}

// lastMessage is the agent's last message in a stream of codex events, "" if
// there is none.
func lastMessage(text string) (last string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "_message") {
			continue
		}
		v, ok := parse(strings.TrimSpace(line))
		if !ok || v.Kind != shape.Map {
			continue
		}
		item := v.Get("item")
		kind := item.Get("type").Text
		if kind == "" {
			kind = item.Get("item_type").Text
		}
		switch msg := v.Get("msg"); {
		case v.Get("type").Text == "item.completed" && (kind == "agent_message" || kind == "assistant_message"):
			last = item.Get("text").Text
		case msg.Get("type").Text == "agent_message":
			last = msg.Get("message").Text
		}
	}
	return last
}

const (
	// maxCandidates bounds the values examined in one output.
	maxCandidates = 1000
	// maxBraces bounds how many, and maxScanned how far, unbalanced braces are
	// searched.
	maxBraces  = 2000
	maxScanned = 64 << 20
	// maxUnwrap bounds the nesting of wrapped answers.
	maxUnwrap = 6
)

// candidates are the JSON values in a text, in the order of trying: values
// wrapped in another one come first.
type candidates struct{ values []shape.Value }

func candidatesIn(text string) []shape.Value {
	c := candidates{}
	c.text(text, 0)
	return c.values
}

var fence = lazyregexp.New("(?s)```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```")

func (c *candidates) text(text string, depth int) {
	if c.whole(text, depth) {
		return
	}
	for _, block := range fence().FindAllStringSubmatch(text, maxCandidates) {
		c.whole(block[1], depth)
	}
	eachObject(text, func(object string) bool { return c.whole(object, depth) && len(c.values) < maxCandidates })
}

// whole handles a text that is one JSON value.
func (c *candidates) whole(text string, depth int) bool {
	v, ok := lenient(text)
	if ok {
		c.value(v, depth)
	}
	return ok
}

var wrappers = []string{"structured_output", "result", "response", "payload", "data", "output", "message", "content"}

func (c *candidates) value(v shape.Value, depth int) {
	if len(c.values) >= maxCandidates {
		return
	}
	if depth < maxUnwrap {
		switch v.Kind {
		case shape.Map:
			for _, name := range wrappers {
				c.inner(*v.Get(name), depth+1)
			}
		case shape.List:
			for i := range v.Items {
				c.inner(v.Items[i], depth+1)
			}
		default: // nothing is inside
		}
	}
	c.values = append(c.values, v)
}

func (c *candidates) inner(v shape.Value, depth int) {
	switch v.Kind {
	case shape.String:
		if strings.ContainsAny(v.Text, "{[") {
			c.text(v.Text, depth)
		}
	case shape.Map, shape.List:
		c.value(v, depth)
	default: // not an answer
	}
}

// lenient parses JSON, if necessary without a byte order mark and trailing
// commas.
func lenient(text string) (shape.Value, bool) {
	text = strings.TrimSpace(text)
	if v, ok := parse(text); ok {
		return v, true
	}
	if !strings.HasPrefix(text, "\uFEFF") && !strings.ContainsAny(text, "]}") {
		return shape.Value{}, false
	}
	return parse(withoutTrailingCommas(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))))
}

// withoutTrailingCommas removes commas before closing brackets, outside of
// strings.
func withoutTrailingCommas(text string) string {
	inString, comma := false, -1 // index of the last comma in kept
	kept := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			kept = append(kept, c, text[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
			comma = -1
		case inString || c == ' ' || c == '\n' || c == '\t' || c == '\r':
		case c == ',':
			comma = len(kept)
		case (c == '}' || c == ']') && comma >= 0:
			kept[comma] = ' '
			comma = -1
		default:
			comma = -1
		}
		kept = append(kept, c)
	}
	return string(kept)
}

// eachObject calls take for each balanced {…} of a text. If take returns false,
// or a brace is never closed, the search continues after the brace.
func eachObject(text string, take func(object string) bool) {
	scanned := 0
	for tries, at := 0, strings.IndexByte(text, '{'); at >= 0 && tries < maxBraces && scanned < maxScanned; tries++ {
		end := objectEnd(text[at:])
		next := at + 1
		if end < 0 {
			scanned += len(text) - at
		} else {
			scanned += end
			if take(text[at : at+end]) {
				next = at + end
			}
		}
		i := strings.IndexByte(text[next:], '{')
		if i < 0 {
			return
		}
		at = next + i
	}
}

// objectEnd is the length of the balanced object at the beginning of a text, -1
// if it does not end. Braces inside strings do not count.
func objectEnd(text string) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
