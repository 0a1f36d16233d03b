package cli

// The value of the option --decision.

import "ac/governance"

// DecisionWord is the value of --decision: approved or denied, or the verbs for them, approve and
// deny.
type DecisionWord string

// Set sets the decision and converts the verbs.
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

// String returns the decision.
func (d *DecisionWord) String() string { return string(*d) }

// Type returns the type shown in the option's help.
func (d *DecisionWord) Type() string { return "string" }

// DecisionWords returns the possible decisions.
func DecisionWords() []string { return []string{governance.Approved, governance.Denied} }
