package cli

// Texts that may be missing.

import "ac/internal/terminal"

// OrEmpty is a text, "" where it is missing.
func OrEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// OrUnknown is a text, else another one, else the mark for what is not known.
func OrUnknown(text *string, other string) string {
	if text != nil {
		return *text
	}
	if other == "" {
		return terminal.Unknown
	}
	return other
}
