package cli

// The option that takes a decision.

import "ac/governance"

// DecisionWord is the value of --decision: approved or denied, or what is done for it.
type DecisionWord string

// Set takes a decision.
func (d *DecisionWord) Set(word string) error {
	switch word {
	case "approve":
		word = governance.Approved
	case "deny":
		word = governance.Denied
	}
	*d = DecisionWord(word)
	return nil
}

// String is the decision.
func (d *DecisionWord) String() string { return string(*d) }

// Type is the type for the help of the option.
func (d *DecisionWord) Type() string { return "string" }

// DecisionWords are the decisions.
func DecisionWords() []string { return []string{governance.Approved, governance.Denied} }
