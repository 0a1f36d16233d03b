package patch

// Writing patches that insert lines below a line.

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// contextLines is the number of context lines of a patch.
const contextLines = 4

// ErrNoLine is returned if the line to insert below is missing.
var ErrNoLine = errors.New("the text has no such line")

// Insert inserts lines below the first line that equals under, ignoring
// trailing white space: after one empty line that follows it directly, and
// followed by an empty line. It uses the line ends of the text. It returns the
// new text, and a patch for a file of this name that was verified to produce
// it.
func Insert(name, text, under string, lines []string) (result, patch string, err error) {
	edit, err := insertion(text, under, lines)
	if err != nil {
		return "", "", err
	}
	return applyEdit(name, text, edit)
}

// Append appends lines to the text, separated by one empty line. It returns
// what Insert returns.
func Append(name, text string, lines []string) (result, patch string, err error) {
	end := "\n"
	if onlyCRLF(text) {
		end = "\r\n"
	}
	edit := udiff.Edit{Start: len(text), End: len(text), New: strings.Join(lines, end) + end}
	if t := newTarget(text); len(t.lines) > 0 {
		last := t.lines[len(t.lines)-1]
		switch {
		case !strings.HasSuffix(last, "\n"): // the last line, without a line end
			edit.Start = t.offsets[len(t.lines)-1]
			edit.New = last + end + end + edit.New
		case trimEnd(last) != "":
			edit.New = end + edit.New
		}
	}
	return applyEdit(name, text, edit)
}

// applyEdit returns the new text and its patch. It verifies that the patch produces the text.
func applyEdit(name, text string, edit udiff.Edit) (result, patch string, err error) {
	if result, err = udiff.Apply(text, []udiff.Edit{edit}); err != nil {
		return "", "", err
	}
	if patch, err = write(name, text, []udiff.Edit{edit}); err != nil {
		return "", "", err
	}
	read, err := Read(patch)
	if err != nil {
		return "", "", fmt.Errorf("the generated patch cannot be parsed: %w", err)
	}
	applied, err := read.Apply(text)
	if err != nil || applied.Text != result || applied.Reanchored {
		return "", "", fmt.Errorf("the generated patch does not produce the text: %w", errors.Join(err, ErrConflict))
	}
	return result, patch, nil
}

// insertion returns the edit, of whole lines, that Insert makes.
func insertion(text, under string, lines []string) (udiff.Edit, error) {
	t := newTarget(text)
	at := -1
	for i, l := range t.lines {
		if strings.TrimRightFunc(l, unicode.IsSpace) == under {
			at = i
			break
		}
	}
	if at < 0 {
		return udiff.Edit{}, ErrNoLine
	}
	end := "\n"
	if strings.HasSuffix(t.lines[at], "\r\n") || !strings.HasSuffix(t.lines[at], "\n") && onlyCRLF(text) {
		end = "\r\n"
	}
	block := strings.Join(lines, end) + end
	heading := t.lines[at]
	at++
	switch {
	case !strings.HasSuffix(heading, "\n"): // the last line, without a line end
		return udiff.Edit{Start: t.offsets[at-1], End: t.offsets[at], New: heading + end + block}, nil
	case at == len(t.lines): // the empty line is what follows the last line end
		return udiff.Edit{Start: len(text), End: len(text), New: end + block}, nil
	case trimEnd(t.lines[at]) == "" && strings.HasSuffix(t.lines[at], "\n"):
		at++
		if at == len(t.lines) {
			return udiff.Edit{Start: len(text), End: len(text), New: block + end}, nil
		}
	}
	return udiff.Edit{Start: t.offsets[at], End: t.offsets[at], New: block + end}, nil
}

// write returns edits of whole lines as a patch. All lines of the patch end in CRLF if those of
// the text do.
func write(name, text string, edits []udiff.Edit) (string, error) {
	patch, err := udiff.ToUnified("a/"+name, "b/"+name, text, edits, contextLines)
	if err != nil {
		return "", err
	}
	if onlyCRLF(text) && !strings.HasSuffix(text, "\r") { // else a lone CR at the end could not be told from a line end
		patch = strings.ReplaceAll(strings.ReplaceAll(patch, "\r\n", "\n"), "\n", "\r\n")
	}
	return patch, nil
}
