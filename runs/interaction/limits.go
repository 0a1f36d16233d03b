package interaction

// Limits of requests and answers, in bytes unless marked otherwise.

import "strings"

// The limits.
const (
	MaxTitle     = 300 // characters
	MaxPrompt    = 16 << 10
	MaxResource  = 4 << 10
	MaxArgs      = 16 << 10
	MaxDiff      = 64 << 10
	MaxQuestions = 8 // in one interaction
	MaxText      = 64 << 10
	MaxInput     = 256 << 10 // answer to an input
	MaxNote      = 4 << 10
	MaxOpen      = 64 // interactions of a run
)

// Bounded returns the request with its texts and questions truncated to the limits.
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

// cut truncates a text to limit bytes and drops a character that this splits.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
