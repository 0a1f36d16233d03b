package top

// A list whose selection stays on its id when rows appear or disappear.

import "slices"

// list is the state of a list: the selected id, and the index of the top visible row.
type list struct {
	selected string
	top      int
}

// at returns the index of the selected id, 0 if the id no longer exists.
func (l *list) at(ids []string) int { return max(0, slices.Index(ids, l.selected)) }

// keep keeps the selection. If the selected row is gone, keep selects the row that took its place.
func (l *list) keep(before, ids []string) {
	if len(ids) == 0 {
		l.selected = ""
		return
	}
	if !slices.Contains(ids, l.selected) {
		l.selected = ids[min(l.at(before), len(ids)-1)]
	}
}

// move moves the selection by rows and reports whether it changed.
func (l *list) move(ids []string, by int) bool {
	if len(ids) == 0 {
		return false
	}
	before := l.selected
	l.selected = ids[min(max(l.at(ids)+by, 0), len(ids)-1)]
	return l.selected != before
}

// window returns the range of visible rows for a height. It contains the selected row.
func (l *list) window(ids []string, height int) (from, to int) {
	at := l.at(ids)
	l.top = min(max(l.top, at-height+1), at, max(0, len(ids)-height))
	l.top = max(l.top, 0)
	return l.top, min(l.top+height, len(ids))
}

// text is a scrollable text.
type text struct {
	of     string // the id of its subject
	lines  []Line
	top    int
	follow bool // keep the end visible

	broken wrapping
}

// wrapping caches the last wrapped form of a text.
type wrapping struct {
	first *Line // identifies the wrapped lines, which are replaced and never changed
	n     int
	width int
	lines []Line
}

// wrapped returns the whole text, wrapped for a width.
func (t *text) wrapped(width int) []Line {
	if len(t.lines) == 0 {
		return nil
	}
	if w := &t.broken; w.first != &t.lines[0] || w.n != len(t.lines) || w.width != width {
		*w = wrapping{&t.lines[0], len(t.lines), width, wrap(t.lines, width)}
	}
	return t.broken.lines
}

// window returns the visible part of the text. If it follows the end, window wraps only the end,
// because the text may grow with every frame.
func (t *text) window(width, height int) []Line {
	if t.follow {
		tail := wrap(t.lines[max(0, len(t.lines)-height):], width)
		return tail[max(0, len(tail)-height):]
	}
	all := t.wrapped(width)
	from, to := t.seen(len(all), height)
	return all[from:to]
}

// scroll moves the window over a text of wrapped lines.
func (t *text) scroll(wrapped, height, by int) {
	last := max(0, wrapped-height)
	if t.follow {
		t.top = last
	}
	t.top = min(max(t.top+by, 0), last)
	t.follow = t.follow && by >= 0 || by > 0 && t.top == last
}

// seen returns the range of visible lines in a text of wrapped lines, for a text that does not
// follow its end.
func (t *text) seen(wrapped, height int) (from, to int) {
	t.top = min(t.top, max(0, wrapped-height))
	return t.top, min(wrapped, t.top+height)
}
