package provider

// Workers that run the agent's own command instead of a CLI that ac knows.

import (
	"errors"
	"fmt"
	"strings"
)

// CommandCall fills in the command line of an agent without a driver. If no word contains
// {PROMPT}, the prompt goes to stdin. CommandCall refuses {PROMPT} where an option could swallow
// it. It is allowed after "--", in a word such as --prompt={PROMPT}, or before all options if
// the prompt does not begin like one. The caller checks the program against the approved names.
func CommandCall(w Work) (Call, error) {
	if len(w.Template) == 0 {
		return Call{}, errors.New("a worker without a driver needs launcher.command_argv_template")
	}
	if err := checkPromptWord(w.Template, w.Prompt); err != nil {
		return Call{}, err
	}
	call, err := fromTemplate(w)
	call.Format = ""
	return call, err
}

func checkPromptWord(words []string, prompt string) error {
	option := ""
	for i, word := range words {
		switch {
		case word == "--":
			return nil
		case strings.Contains(word, "{PROMPT}"):
			before, _, _ := strings.Cut(word, "{PROMPT}")
			if i == 0 {
				return errors.New("the first word of command_argv_template must not have {PROMPT}")
			}
			if named := strings.HasPrefix(before, "--") && strings.Contains(before, "="); named {
				continue
			}
			if option != "" {
				return fmt.Errorf("{PROMPT} stands where %s could take it: put -- before it, or write --name={PROMPT}", option)
			}
			if before == "" && strings.HasPrefix(prompt, "-") {
				return errors.New("the prompt begins like an option: put -- before {PROMPT}")
			}
		case i > 0 && strings.HasPrefix(word, "-"):
			option = word
		}
	}
	return nil
}
