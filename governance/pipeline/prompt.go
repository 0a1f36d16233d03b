package pipeline

// The prompt for an agent that fills an artifact.

import "strings"

// prompt asks for the document of a template. The template comes last, so that the prompt ends
// with what the answer begins with.
func prompt(template []byte, instructions string) []byte {
	if strings.TrimSpace(instructions) == "" {
		instructions = "There are no further instructions for this document."
	}
	return []byte(`You write one document of a company. Answer with the complete Markdown document and with nothing else.

- Begin with the line --- of the front matter. Put no code fence around the document, and write nothing before or after it.
- Leave the front matter exactly as it is: every key, every value, the same order.
- Keep every heading as it is spelled, and write what belongs under each of them. You may add deeper headings.
- Write what you know. Say so where something is not known; invent no facts and no figures.

Instructions:

` + strings.TrimSpace(instructions) + "\n\nThe document to complete:\n\n" + string(template))
}
