package terminal

// Links to files (OSC 8), where a terminal is known to show them.

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// UseLinks reports whether texts get links: on a terminal that has colours and is known to
// show them. FORCE_HYPERLINK decides about terminals that are not known, and about tmux and
// screen; in pipes and on dumb terminals there is never one.
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

// leastVTE is the version of the VTE library from which it shows links.
const leastVTE = 5000

// The control sequences around the address of a link, which ends with an empty address.
const (
	linkBegin = "\x1b]8;;"
	linkEnd   = "\x1b\\"
)

// FileURL is the address of a file of a host. The path is absolute.
func FileURL(host, path string) string {
	return (&url.URL{Scheme: "file", Host: host, Path: path}).String()
}

// Link makes a text a link to an address, unless either is empty.
func Link(address, text string) string {
	if address == "" || text == "" {
		return text
	}
	return linkBegin + Quote(address) + linkEnd + text + linkBegin + linkEnd
}

// Unlink takes the links out of a text, for programs that may not know them.
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
