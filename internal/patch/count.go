package patch

// Counting what a patch of any number of files changes.

import "strings"

// Count counts the lines that a unified diff adds and removes, and its files. Text that is in
// no hunk counts for nothing, so it takes what git and diff write, and anything else.
func Count(text string) (added, removed, files int) {
	olds, news := 0, 0 // lines of the hunk that are still to come
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
