package provider

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/shape"
)

// geminiCLI drives gemini in headless mode. Its output is a stream of JSON lines if the program
// supports that, else one JSON value. The prompt is the value of an option, or goes to stdin if
// it is too long for an argument. An agent's own command line (Work.Template) takes precedence.
type geminiCLI struct{}

func (geminiCLI) ForWork(w Work) (Call, error) {
	if len(w.Template) > 0 {
		return fromTemplate(w)
	}
	format := "json"
	if w.Stream {
		format = "stream-json"
	}
	argv := slices.Concat([]string{w.Program}, geminiRights(w.Level, w.Trusted), []string{"--output-format", format}, option("--model", w.Model))
	return geminiPrompt(argv, w.Prompt, format), nil
}

func (geminiCLI) ForFilling(f Filling) Call {
	argv := slices.Concat([]string{f.Program}, geminiRights(ReadOnly, f.Trusted), []string{"--output-format", "json"}, option("--model", f.Model))
	return geminiPrompt(argv, f.Prompt, "json")
}

// maxArgument is the longest prompt, in bytes, on a command line. Linux limits one argument to
// 128 KiB.
const maxArgument = 100 << 10

// geminiPrompt adds the prompt as an option. A prompt goes to stdin if it is empty, longer than
// maxArgument, or begins like an option.
func geminiPrompt(argv []string, prompt, format string) Call {
	if len(prompt) > maxArgument || strings.HasPrefix(prompt, "-") || prompt == "" {
		return Call{Argv: argv, Stdin: &prompt, Format: format}
	}
	return Call{Argv: append(argv, "-p", prompt), Format: format}
}

// Answer returns the response field of JSON output, else the last message of a stream, else the
// output itself.
func (geminiCLI) Answer(stdout, _ string) (string, error) {
	if v, ok := parseLine(stdout); ok {
		if r := v.Get("response"); r.Kind == shape.String {
			return answerOr(r.Text)
		}
	}
	if text := lastStreamed(stdout); text != "" {
		return text, nil
	}
	return answerOr(stdout)
}

// lastStreamed returns the agent's last message in a stream of JSON lines, joined from its
// deltas; "" if there is none.
func lastStreamed(stdout string) string {
	var last strings.Builder
	over := false
	for line := range strings.Lines(stdout) {
		v, ok := parseLine(line)
		if !ok {
			continue
		}
		if v.Get("type").Text != "message" || v.Get("role").Text != "assistant" {
			over = v.Get("type").Text != "result" || over
			continue
		}
		if over {
			last.Reset()
			over = false
		}
		last.WriteString(v.Get("content").Text)
	}
	return last.String()
}

func (geminiCLI) Abilities() (args []string, words AbilityWords) {
	return []string{"--help"}, AbilityWords{Stream: "stream-json"}
}

// CheckTemplate returns an error if an agent's own command line contains a shell or a multi-line
// word. It does not check whether the program is approved.
func CheckTemplate(words []string) error {
	if len(words) == 0 {
		return nil
	}
	if strings.TrimSpace(words[0]) == "" {
		return errors.New("the first word of command_argv_template must not be empty")
	}
	if isLauncher(filepath.Base(words[0])) {
		return fmt.Errorf("command_argv_template must not start a shell (%s)", words[0])
	}
	for _, word := range words {
		if strings.ContainsAny(word, "\r\n\x00") {
			return errors.New("words of command_argv_template must not contain line breaks or NUL")
		}
		if isShell(filepath.Base(word)) {
			return fmt.Errorf("command_argv_template must not name a shell (%s)", word)
		}
	}
	return nil
}

// fromTemplate fills in an agent's own command line. The caller checks the program against the
// approved names.
func fromTemplate(w Work) (Call, error) {
	if err := CheckTemplate(w.Template); err != nil {
		return Call{}, err
	}
	fill := strings.NewReplacer("{PROMPT}", w.Prompt, "{MODEL}", w.Model, "{PERMISSION_LEVEL}", w.Level, "{OUTPUT_FORMAT}", "json")
	call := Call{Argv: make([]string, len(w.Template)), Stdin: &w.Prompt, Format: "json"}
	for i, word := range w.Template {
		if strings.Contains(word, "{PROMPT}") {
			call.Stdin = nil
		}
		call.Argv[i] = fill.Replace(word)
	}
	return call, nil
}
