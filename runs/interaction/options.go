package interaction

// The options that faces show as buttons.

import "strconv"

// DecisionOptions are those of a permission or a plan. Session: an answer may hold
// for the session. Always: the agent takes an allowance for the whole
// conversation only.
func DecisionOptions(session, always bool) []Option {
	once := "Allow once"
	if always {
		once = "Allow for the whole conversation"
	}
	options := []Option{{OptionID: Allow, Label: once, Effect: Allow, Scope: Once}}
	if session {
		options = append(options, Option{OptionID: "allow_session", Label: "Allow for this session", Effect: Allow, Scope: Session})
	}
	return append(options, Option{OptionID: Deny, Label: "Deny", Effect: Deny, Scope: Once})
}

// ChoiceOptions are those of questions that are one question; nil for others.
func ChoiceOptions(questions []QuestionPart) []Option {
	if len(questions) != 1 {
		return nil
	}
	var options []Option
	for i, c := range questions[0].Options {
		options = append(options, Option{OptionID: "choice_" + strconv.Itoa(i+1), Label: c.Label, Description: c.Description})
	}
	return options
}
