package interaction

// The options that user interfaces show as buttons.

import "strconv"

// DecisionOptions returns the options for a permission or a plan. session adds an option that
// holds for the session. With always, the agent accepts a permission only for the whole
// conversation, and the label says so.
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

// ChoiceOptions returns the options for a single question, nil for none or several.
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
