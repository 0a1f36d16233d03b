package cli

// Texts that may be nil.

import "ac/internal/terminal"

// OrEmpty returns a text, "" if it is nil.
func OrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// OrUnknown returns text, or other if text is nil, or the mark for unknown values if both are
// missing.
func OrUnknown(text *string, other string) string {
	if text != nil {
		return *text
	}
	if other == "" {
		return terminal.Unknown
	}
	return other
}
