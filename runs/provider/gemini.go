package provider

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/shape"
)

// geminiCLI is gemini in headless mode: one JSON value on stdout. An agent may
// have a command line of its own.
type geminiCLI struct{}

func (geminiCLI) ForWork(w Work) (Call, error) {
	if len(w.Template) > 0 {
		return fromTemplate(w)
	}
	argv := slices.Concat([]string{w.Program, "--output-format", "json"}, option("--model", w.Model))
	return withPrompt(argv, "-p", w.Prompt, "json"), nil
}

func (geminiCLI) ForFilling(f Filling) Call {
	argv := slices.Concat([]string{f.Program, "--output-format", "json"}, option("--model", f.Model))
	return withPrompt(argv, "-p", f.Prompt, "json")
}

// Answer is the response in JSON output, else the output as it is.
func (geminiCLI) Answer(stdout, _ string) (string, error) {
	if v, ok := parseLine(stdout); ok {
		if r := v.Get("response"); r.Kind == shape.String {
			return answerOr(r.Text)
		}
	}
	return answerOr(stdout)
}

func (geminiCLI) SchemaProbe() (args []string, word string) { return nil, "" }

// CheckTemplate says why an agent's own command line is not used, whatever its
// program is held to: no shell stands in it, and no word that has several lines.
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

// fromTemplate fills in an agent's own command line. Its program is held to the
// approved names by the caller.
func fromTemplate(w Work) (Call, error) {
	if err := CheckTemplate(w.Template); err != nil {
		return Call{}, err
	}
	fill := strings.NewReplacer("{PROMPT}", w.Prompt, "{MODEL}", w.Model, "{PERMISSION_LEVEL}", w.Permission, "{OUTPUT_FORMAT}", "json")
	argv := make([]string, len(w.Template))
	for i, word := range w.Template {
		argv[i] = fill.Replace(word)
	}
	return Call{Argv: argv, Format: "json"}, nil
}
