package terminal_test

import (
	"testing"

	"ac/internal/terminal"
)

// TestUseLinks checks that links are used only on terminals known to show them.
func TestUseLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ map[string]string
		want    bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, true},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, false},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7600"}, true},
		{map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "4602"}, false},
		{map[string]string{"TERM": "xterm-256color", "WT_SESSION": "x"}, true},
		{map[string]string{"TERM": "xterm-kitty"}, true},
		{map[string]string{"TERM": "foot-extra"}, true},
		{map[string]string{"TERM": "footle"}, false},
		{map[string]string{"TERM": "alacritty"}, true},
		{map[string]string{"TERM": "screen", "TERM_PROGRAM": "WezTerm"}, false},
		{map[string]string{"TERM": "xterm-256color", "TMUX": "/tmp/x", "VTE_VERSION": "7600"}, false},
		{map[string]string{"TERM": "xterm-256color", "STY": "1.x", "VTE_VERSION": "7600"}, false},
		{map[string]string{"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, false},
		{map[string]string{"TERM": "tmux-256color", "FORCE_HYPERLINK": "1"}, true},
		{map[string]string{"TERM": "dumb", "FORCE_HYPERLINK": "1"}, false},
	} {
		getenv := func(name string) string { return c.environ[name] }
		if got := terminal.UseLinks(true, true, getenv); got != c.want {
			t.Errorf("%v: %v", c.environ, got)
		}
		if terminal.UseLinks(true, false, getenv) || terminal.UseLinks(false, true, getenv) {
			t.Errorf("%v: links in a pipe, or without colours", c.environ)
		}
	}
}

// TestLink checks the form of a link: no file name can end it, and Unlink removes it.
func TestLink(t *testing.T) {
	t.Parallel()
	address := terminal.FileURL("box", "/a b/\x1b\\c\u202e")
	if address != "file://box/a%20b/%1B%5Cc%E2%80%AE" {
		t.Error(address)
	}
	text := "see " + terminal.Link(address, "this") + " and " + terminal.Link("", "that")
	if want := "see \x1b]8;;" + address + "\x1b\\this\x1b]8;;\x1b\\ and that"; text != want {
		t.Errorf("%q", text)
	}
	if got := terminal.Unlink(text); got != "see this and that" {
		t.Errorf("%q", got)
	}
	table := terminal.Table{Columns: []terminal.Column{{Title: "RUN"}, {Title: "WHAT", Text: true}}, Rows: [][]terminal.Cell{{{Text: "4WKKE6", Link: address}, {Text: "x"}}}}
	lines, plain := table.Lines(40, true), table.Lines(40, false)
	if lines[1] != terminal.Link(address, "4WKKE6")+"  x" || plain[1] != "4WKKE6  x" {
		t.Errorf("%q, %q", lines, plain)
	}
}
