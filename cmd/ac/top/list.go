package top

// A list whose selection stays on its id, whatever comes and goes around it.

import "slices"

// list is the state of a list: what is selected, and which row is on top of its window.
type list struct {
	selected string
	top      int
}

// at is the position of the selected id: the first one if it is not there any more.
func (l *list) at(ids []string) int { return max(0, slices.Index(ids, l.selected)) }

// keep selects what was selected, or what stands in its place when it is gone.
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

// window is the rows that are shown in a height, with the selected one among them.
func (l *list) window(ids []string, height int) (from, to int) {
	at := l.at(ids)
	l.top = min(max(l.top, at-height+1), at, max(0, len(ids)-height))
	l.top = max(l.top, 0)
	return l.top, min(l.top+height, len(ids))
}

// text is a scrolled text. Its lines fit the width they were wrapped for.
type text struct {
	of     string // the id of what it is about
	lines  []Line
	top    int
	follow bool // its end stays in sight

	broken wrapping
}

// wrapping is a text as it was wrapped last.
type wrapping struct {
	first *Line // of the lines that were wrapped; they are replaced, never changed
	n     int
	width int
	lines []Line
}

// wrapped is the whole text in a width.
func (t *text) wrapped(width int) []Line {
	if len(t.lines) == 0 {
		return nil
	}
	if w := &t.broken; w.first != &t.lines[0] || w.n != len(t.lines) || w.width != width {
		*w = wrapping{&t.lines[0], len(t.lines), width, wrap(t.lines, width)}
	}
	return t.broken.lines
}

// window is what is seen of the text in a width and a height. Of one whose end stays in sight
// just that is wrapped: it may grow with every frame.
func (t *text) window(width, height int) []Line {
	if t.follow {
		tail := wrap(t.lines[max(0, len(t.lines)-height):], width)
		return tail[max(0, len(tail)-height):]
	}
	all := t.wrapped(width)
	from, to := t.seen(len(all), height)
	return all[from:to]
}

// scroll moves the window over a text that is shown in a height.
func (t *text) scroll(wrapped, height, by int) {
	last := max(0, wrapped-height)
	if t.follow {
		t.top = last
	}
	t.top = min(max(t.top+by, 0), last)
	t.follow = t.follow && by >= 0 || by > 0 && t.top == last
}

// seen is the position of the window in a text of this length, whose end need not be in sight.
func (t *text) seen(wrapped, height int) (from, to int) {
	t.top = min(t.top, max(0, wrapped-height))
	return t.top, min(wrapped, t.top+height)
}
