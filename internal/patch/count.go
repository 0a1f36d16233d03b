package patch

// Counting what a patch of any number of files changes.

import "strings"

// Count counts the lines that a unified diff adds and removes, and its files. It ignores text
// outside of hunks, so it accepts the output of git and diff, and any other text.
func Count(text string) (added, removed, files int) {
	olds, news := 0, 0 // lines left in the hunk
	named := false     // a header names the file of the next hunk
	for line := range strings.Lines(text) {
		switch {
		case olds > 0 || news > 0:
			switch line[0] {
			case '+':
				added, news = added+1, news-1
			case '-':
				removed, olds = removed+1, olds-1
			case '\\':
			default:
				olds, news = olds-1, news-1
			}
		case strings.HasPrefix(line, "diff --git "):
			files, named = files+1, true
		case strings.HasPrefix(line, "--- ") && !named:
			files, named = files+1, true
		case strings.HasPrefix(line, "@@ "):
			if _, o, n, ok := hunkHeader(trimEnd(line)); ok {
				olds, news, named = o, n, false
			}
		}
	}
	return added, removed, files
}
