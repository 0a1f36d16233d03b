package patch

// Applying a patch: hunks must match exactly, at the stated line or near it.

import (
	"errors"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// ErrConflict is returned if a patch does not match the text.
var ErrConflict = errors.New("the patch does not fit the text")

// Result is a text with a patch applied. Reanchored is set if the patch did not
// match and its lines were inserted below their anchor line instead.
type Result struct {
	Text       string
	Reanchored bool

	old   string
	edits []udiff.Edit
}

// Apply returns the text with the changes of the patch, or ErrConflict. If all line ends of one
// are CRLF and all of the other are LF, it converts the patch first.
func (p Patch) Apply(text string) (Result, error) {
	p = p.convertFor(text)
	t := newTarget(text)
	edits, err := p.fit(t)
	reanchored := false
	if err != nil {
		if edits = p.reanchor(t); edits == nil {
			return Result{}, err
		}
		reanchored = true
	}
	result, err := udiff.Apply(text, edits)
	if err != nil {
		return Result{}, errors.Join(ErrConflict, err)
	}
	return Result{result, reanchored, text, edits}, nil
}

// Diff returns the changes as a unified diff of a file of this name, "" if there are none.
func (r Result) Diff(name string) (string, error) { return write(name, r.old, r.edits) }

// target is a text split into lines, with their line ends.
type target struct {
	lines   []string
	offsets []int // offset of each line, and of the end
}

func newTarget(text string) target {
	t := target{lines: splitLines(text), offsets: []int{0}}
	for _, l := range t.lines {
		t.offsets = append(t.offsets, t.offsets[len(t.offsets)-1]+len(l))
	}
	return t
}

// convertFor returns the patch with the line ends of the text.
func (p Patch) convertFor(text string) Patch {
	var all strings.Builder
	for _, h := range p.hunks {
		for _, l := range h.lines {
			all.WriteString(l.text)
		}
	}
	var convert func(string) string
	switch mine := all.String(); {
	case onlyCRLF(text) && !strings.Contains(mine, "\r\n"):
		convert = func(line string) string {
			if bare, ended := strings.CutSuffix(line, "\n"); ended {
				return bare + "\r\n"
			}
			return line
		}
	case strings.Contains(text, "\n") && !strings.Contains(text, "\r\n") && onlyCRLF(mine):
		convert = func(line string) string {
			if bare, ended := strings.CutSuffix(line, "\r\n"); ended {
				return bare + "\n"
			}
			return line
		}
	default:
		return p
	}
	converted := Patch{hunks: slices.Clone(p.hunks)}
	for i, h := range converted.hunks {
		h.lines = slices.Clone(h.lines)
		for j := range h.lines {
			h.lines[j].text = convert(h.lines[j].text)
		}
		converted.hunks[i] = h
	}
	return converted
}

// fit finds the place of each hunk: the stated line, shifted as the hunk before it was, or the
// nearest match after that hunk.
func (p Patch) fit(t target) (edits []udiff.Edit, err error) {
	first, shift := 0, 0
	for _, h := range p.hunks {
		old := h.old()
		at := nearest(t, &h, old, first, h.start+shift)
		if at < 0 {
			return nil, ErrConflict
		}
		shift, first = at-h.start, at+len(old)
		edits = append(edits, h.edits(t, at)...)
	}
	return edits, nil
}

// nearest returns the match nearest to the stated line, the later one of two equally near ones,
// or -1.
func nearest(t target, h *hunk, old []string, first, stated int) int {
	last := len(t.lines) - len(old)
	if last < first {
		return -1
	}
	stated = min(max(stated, first), last)
	for distance := 0; distance <= max(stated-first, last-stated); distance++ {
		for _, at := range []int{stated + distance, stated - distance} {
			if at >= first && at <= last && slices.Equal(t.lines[at:at+len(old)], old) && h.endsWell(t, at, len(old)) {
				return at
			}
		}
	}
	return -1
}

// endsWell reports whether every line but the last still has a line end after the hunk is
// applied at a line.
func (h *hunk) endsWell(t target, at, olds int) bool {
	fresh := h.side('-')
	atEnd := at+olds == len(t.lines)
	if len(fresh) > 0 && !atEnd && !strings.HasSuffix(fresh[len(fresh)-1], "\n") {
		return false
	}
	return len(fresh) == 0 || at == 0 || strings.HasSuffix(t.lines[at-1], "\n")
}

// edits returns the edits of a hunk that is applied at a line of the text.
func (h *hunk) edits(t target, at int) (edits []udiff.Edit) {
	open := false
	for _, l := range h.lines {
		if l.op == ' ' {
			at, open = at+1, false
			continue
		}
		if !open {
			edits, open = append(edits, udiff.Edit{Start: t.offsets[at], End: t.offsets[at]}), true
		}
		now := &edits[len(edits)-1]
		if l.op == '-' {
			at++
			now.End = t.offsets[at]
		} else {
			now.New += l.text
		}
	}
	return edits
}
