package policy

// Glob patterns of rules. * matches any characters, except / in paths. ** matches any
// characters. ? matches one character. All others match themselves, case-sensitively.

import (
	"strings"
	"unicode/utf8"
)

// everything is the pattern that matches any resource, including an unknown one.
const everything = "**"

type pieceKind int

const (
	exact    pieceKind = iota // one literal character
	one                       // any character
	anything                  // any number of characters
	segment                   // any number of characters except /
)

type piece struct {
	kind pieceKind
	text string
}

// pieces parses a pattern. Adjacent stars form one piece: more than one star matches anything.
func pieces(glob string, path bool) (list []piece) {
	for len(glob) > 0 {
		switch glob[0] {
		case '*':
			rest := strings.TrimLeft(glob, "*")
			p := piece{kind: anything}
			if path && len(glob)-len(rest) == 1 {
				p.kind = segment
			}
			list, glob = append(list, p), rest
		case '?':
			list, glob = append(list, piece{kind: one}), glob[1:]
		default:
			_, n := utf8.DecodeRuneInString(glob)
			list, glob = append(list, piece{kind: exact, text: glob[:n]}), glob[n:]
		}
	}
	return list
}

// Glob reports whether a pattern matches a resource. It simulates the pattern as an NFA and
// tracks all possible positions at once. Its time is therefore at most proportional to the
// product of both lengths, without exponential backtracking.
func Glob(glob, resource string, path bool) bool {
	if resource == "" {
		return glob == everything
	}
	list := pieces(glob, path)
	here, next := newPlaces(list), newPlaces(list)
	here.add(0)
	for len(resource) > 0 && len(here.list) > 0 {
		_, n := utf8.DecodeRuneInString(resource)
		char := resource[:n]
		resource = resource[n:]
		for _, i := range here.list {
			if i == len(list) {
				continue
			}
			switch p := list[i]; {
			case p.kind == anything, p.kind == segment && char != "/":
				next.add(i)
			case p.kind == one, p.kind == exact && p.text == char:
				next.add(i + 1)
			}
		}
		here, next = next, here
		next.clear()
	}
	return here.has[len(list)]
}

// places is a set of positions in a pattern.
type places struct {
	pieces []piece
	list   []int
	has    []bool
}

func newPlaces(list []piece) *places {
	return &places{pieces: list, list: make([]int, 0, len(list)+1), has: make([]bool, len(list)+1)}
}

// add adds a position, and the positions after stars, since a star may match nothing.
func (p *places) add(i int) {
	for ; !p.has[i]; i++ {
		p.has[i] = true
		p.list = append(p.list, i)
		if i == len(p.pieces) || p.pieces[i].kind != anything && p.pieces[i].kind != segment {
			return
		}
	}
}

func (p *places) clear() {
	for _, i := range p.list {
		p.has[i] = false
	}
	p.list = p.list[:0]
}
