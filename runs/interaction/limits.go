package interaction

// Bounds of what is asked and answered, in bytes where nothing else is said.

import "strings"

// The bounds.
const (
	MaxTitle     = 300 // characters
	MaxPrompt    = 16 << 10
	MaxResource  = 4 << 10
	MaxArgs      = 16 << 10
	MaxDiff      = 64 << 10
	MaxQuestions = 8 // asked together
	MaxText      = 64 << 10
	MaxInput     = 256 << 10 // of the answer to an input
	MaxNote      = 4 << 10
	MaxOpen      = 64 // of a run
)

// Bounded is a request within the bounds: longer texts are cut.
func (r Request) Bounded() Request {
	characters := 0
	for i := range r.Title {
		if characters++; characters > MaxTitle {
			r.Title = r.Title[:i]
			break
		}
	}
	r.Prompt, r.Resource = cut(r.Prompt, MaxPrompt), cut(r.Resource, MaxResource)
	r.ArgsPreview, r.Diff = cut(r.ArgsPreview, MaxArgs), cut(r.Diff, MaxDiff)
	r.Questions = r.Questions[:min(len(r.Questions), MaxQuestions)]
	return r
}

// cut is the beginning of a text, without a character that was cut through.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
