package patch

// Writing patches that put lines under a line.

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// contextLines is how many lines around a change a patch tells.
const contextLines = 4

// ErrNoLine says that the line to insert under is not there.
var ErrNoLine = errors.New("the text has no such line")

// Insert puts lines under the first line that equals under, white space behind
// it aside: after one empty line that follows it directly, and with an empty line
// behind them. Line ends are those of the text. It gives the new text and the
// patch of a file of this name that was proven to make it.
func Insert(name, text, under string, lines []string) (result, patch string, err error) {
	edit, err := insertion(text, under, lines)
	if err != nil {
		return "", "", err
	}
	return proven(name, text, edit)
}

// Append puts lines at the end of the text, with one empty line before them. It
// gives what Insert gives.
func Append(name, text string, lines []string) (result, patch string, err error) {
	end := "\n"
	if onlyCRLF(text) {
		end = "\r\n"
	}
	edit := udiff.Edit{Start: len(text), End: len(text), New: strings.Join(lines, end) + end}
	if t := newTarget(text); len(t.lines) > 0 {
		last := t.lines[len(t.lines)-1]
		switch {
		case !strings.HasSuffix(last, "\n"): // the last line, without an end
			edit.Start = t.offsets[len(t.lines)-1]
			edit.New = last + end + end + edit.New
		case trimEnd(last) != "":
			edit.New = end + edit.New
		}
	}
	return proven(name, text, edit)
}

// proven makes the new text of a change and its patch, and applies the patch to
// see that it makes that text.
func proven(name, text string, edit udiff.Edit) (result, patch string, err error) {
	if result, err = udiff.Apply(text, []udiff.Edit{edit}); err != nil {
		return "", "", err
	}
	if patch, err = write(name, text, []udiff.Edit{edit}); err != nil {
		return "", "", err
	}
	read, err := Read(patch)
	if err != nil {
		return "", "", fmt.Errorf("the patch that was made cannot be read: %w", err)
	}
	applied, err := read.Apply(text)
	if err != nil || applied.Text != result || applied.Reanchored {
		return "", "", fmt.Errorf("the patch that was made does not make the text: %w", errors.Join(err, ErrConflict))
	}
	return result, patch, nil
}

// insertion is the change that Insert makes, of whole lines.
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
	case !strings.HasSuffix(heading, "\n"): // the last line, without an end
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

// write writes changes of whole lines as a patch. All its lines end in CRLF when
// those of the text do.
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
