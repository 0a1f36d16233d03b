package files

// Diffs in git's format.

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiff bounds the diff of a file, in bytes.
const maxDiff = 256 << 10

// Side is one side of a diff. The zero value is an absent file.
type Side struct {
	Exists  bool
	Content []byte
	Mode    fs.FileMode
}

// gitMode returns the mode of a file as git records it.
func (s Side) gitMode() string {
	if s.Mode&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// lineEdit replaces the lines [from, to) of the old text with new lines.
type lineEdit struct {
	from, to int
	fresh    []string
}

// Diff is the difference between two versions of a file, by lines.
type Diff struct {
	Added, Removed int

	path     string
	old, new Side
	before   []string
	edits    []lineEdit
}

// Compare computes the lines that differ.
func Compare(path string, old, fresh Side) Diff {
	d := Diff{path: path, old: old, new: fresh}
	if bytes.Equal(old.Content, fresh.Content) {
		return d
	}
	before, after := string(old.Content), string(fresh.Content)
	d.before = lines(before)
	line, at := 0, 0
	advance := func(to int) int { // counts lines up to the offset of a line start
		for at < to {
			at += len(d.before[line])
			line++
		}
		return line
	}
	for _, e := range udiff.Lines(before, after) {
		edit := lineEdit{from: advance(e.Start), fresh: lines(e.New)}
		edit.to = advance(e.End)
		d.Added += len(edit.fresh)
		d.Removed += edit.to - edit.from
		d.edits = append(d.edits, edit)
	}
	return d
}

// lines splits a text into lines, including their line ends. The last line may have none.
func lines(text string) []string {
	split := strings.SplitAfter(text, "\n")
	if split[len(split)-1] == "" {
		split = split[:len(split)-1]
	}
	return split
}

// Unified returns the diff in unified format with lines of context around each change, suitable
// for git apply and patch -p1. ok is false if it would be longer than limit bytes.
func (d Diff) Unified(context, limit int) (text string, ok bool) {
	var b strings.Builder
	oldName, newName := quote("a/"+d.path), quote("b/"+d.path)
	fmt.Fprintf(&b, "diff --git %s %s\n", oldName, newName)
	switch {
	case !d.old.Exists:
		fmt.Fprintf(&b, "new file mode %s\n", d.new.gitMode())
		oldName = "/dev/null"
	case !d.new.Exists:
		fmt.Fprintf(&b, "deleted file mode %s\n", d.old.gitMode())
		newName = "/dev/null"
	case d.old.gitMode() != d.new.gitMode():
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", d.old.gitMode(), d.new.gitMode())
	}
	if len(d.edits) > 0 {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", ended(oldName), ended(newName))
	}
	shift := 0 // how many lines the new text is ahead
	for first := 0; first < len(d.edits); {
		last := first
		for last+1 < len(d.edits) && d.edits[last+1].from-d.edits[last].to <= 2*context {
			last++
		}
		shift = d.hunk(&b, first, last, context, shift)
		if first = last + 1; b.Len() > limit {
			return "", false
		}
	}
	return b.String(), true
}

// hunk writes the edits first..last with their context. It returns the new shift.
func (d Diff) hunk(b *strings.Builder, first, last, context, shift int) int {
	from := max(d.edits[first].from-context, 0)
	to := min(d.edits[last].to+context, len(d.before))
	grown := 0
	for _, e := range d.edits[first : last+1] {
		grown += len(e.fresh) - (e.to - e.from)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(from, to-from), hunkRange(from+shift, to-from+grown))
	at := from
	for _, e := range d.edits[first : last+1] {
		write(b, ' ', d.before[at:e.from])
		write(b, '-', d.before[e.from:e.to])
		write(b, '+', e.fresh)
		at = e.to
	}
	write(b, ' ', d.before[at:to])
	return shift + grown
}

// hunkRange formats a range of lines for the header of a hunk.
func hunkRange(from, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return strconv.Itoa(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func write(b *strings.Builder, sign byte, lines []string) {
	for _, line := range lines {
		b.WriteByte(sign)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// ended returns a name as it ends a header line: a name with spaces gets a tab.
func ended(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

// quote quotes a name as git does: in quotes and with escapes, if it has quotes, backslashes,
// control characters or bytes beyond ASCII.
func quote(name string) string {
	var b strings.Builder
	plain := true
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
			plain = false
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
			plain = false
		default:
			b.WriteByte(c)
		}
	}
	if plain {
		return name
	}
	return `"` + b.String() + `"`
}
