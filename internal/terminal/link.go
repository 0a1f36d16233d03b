package terminal

// Links to files (OSC 8), on terminals that are known to show them.

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// UseLinks reports whether texts get links: on a terminal that has colours and is known to show
// links. FORCE_HYPERLINK decides for unknown terminals, and for tmux and screen. Pipes and dumb
// terminals never get links.
func UseLinks(colour, isTerminal bool, getenv func(string) string) bool {
	term := getenv("TERM")
	if !colour || !isTerminal || term == "dumb" {
		return false
	}
	if forced := getenv("FORCE_HYPERLINK"); forced != "" {
		return forced != "0"
	}
	if getenv("TMUX") != "" || getenv("STY") != "" || strings.HasPrefix(term, "tmux") || strings.HasPrefix(term, "screen") {
		return false
	}
	vte, err := strconv.Atoi(getenv("VTE_VERSION"))
	return err == nil && vte >= leastVTE ||
		slices.Contains([]string{"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"}, getenv("TERM_PROGRAM")) ||
		slices.ContainsFunc([]string{"KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION"}, func(name string) bool { return getenv(name) != "" }) ||
		slices.ContainsFunc([]string{"foot", "xterm-kitty", "kitty", "alacritty"}, func(name string) bool { return term == name || strings.HasPrefix(term, name+"-") })
}

// leastVTE is the first version of the VTE library that shows links.
const leastVTE = 5000

// The control sequences around the address of a link. An empty address ends the link.
const (
	linkBegin = "\x1b]8;;"
	linkEnd   = "\x1b\\"
)

// FileURL returns the URL of a file on a host. The path must be absolute.
func FileURL(host, path string) string {
	return (&url.URL{Scheme: "file", Host: host, Path: path}).String()
}

// Link returns a text as a link to an address. It returns the text alone if either is empty.
func Link(address, text string) string {
	if address == "" || text == "" {
		return text
	}
	return linkBegin + Quote(address) + linkEnd + text + linkBegin + linkEnd
}

// Unlink removes the links from a text, for programs that may not support them.
func Unlink(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, linkBegin)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, linkEnd)
	}
}
