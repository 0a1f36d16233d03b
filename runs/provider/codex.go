package provider

import (
	"slices"
	"strings"
)

// codexCLI drives codex exec: the prompt on stdin, JSON lines on stdout. The answer is in a
// file, else it is the longest text in those lines.
type codexCLI struct{}

func (codexCLI) ForWork(w Work) (Call, error) {
	argv := slices.Concat([]string{w.Program, "exec"}, option("--model", w.Model),
		[]string{"--skip-git-repo-check", "--sandbox", Sandbox(w.Level), "--color", "never"}, option("--output-schema", w.SchemaFile), w.Files.words(),
		[]string{"--json", "-"})
	return Call{Argv: argv, Stdin: &w.Prompt}, nil
}

func (codexCLI) ForFilling(f Filling) Call {
	argv := slices.Concat([]string{f.Program, "exec"}, option("--model", f.Model),
		[]string{"--skip-git-repo-check", "--sandbox", Sandbox(ReadOnly), "--color", "never", "--output-last-message", f.Last, "--json", "-"})
	return Call{Argv: argv, Stdin: &f.Prompt}
}

func (codexCLI) Answer(stdout, last string) (string, error) {
	if strings.TrimSpace(last) != "" {
		return last, nil
	}
	return answerOr(LongestText(stdout))
}

func (codexCLI) Abilities() (args []string, words AbilityWords) {
	return []string{"exec", "--help"}, AbilityWords{Schema: "--output-schema", NoRuns: "--disable"}
}
