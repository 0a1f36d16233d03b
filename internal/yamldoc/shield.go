package yamldoc

// Characters that YAML 1.2 allows inside quotes or text but that the library
// refuses or takes for line breaks are hidden from it behind private-use
// characters that the text does not contain, and put back afterwards.

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

type shield struct {
	base   rune // 0 when there is nothing to hide
	hider  *strings.Replacer
	finder *strings.Replacer
}

// special are the characters in question: DEL, the C1 controls with NEL, the
// line and paragraph separators, and a byte order mark inside the text.
func special() []rune {
	var runes []rune
	for r := rune(0x7F); r < 0xA0; r++ {
		runes = append(runes, r)
	}
	return append(runes, 0x2028, 0x2029, 0xFEFF)
}

func isSpecial(r rune) bool {
	return (r >= 0x7F && r < 0xA0) || r == 0x2028 || r == 0x2029 || r == 0xFEFF
}

const firstBase, lastBase, baseStep = 0xF0000, 0xFFF00, 0x100

func newShield(text []byte) shield {
	found := false
	taken := map[rune]bool{}
	for at := 0; at < len(text); {
		if text[at] < 0x7F {
			at++
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		at += size
		found = found || isSpecial(r)
		if r >= firstBase {
			taken[r/baseStep*baseStep] = true
		}
	}
	if !found {
		return shield{}
	}
	base := rune(firstBase)
	for taken[base] && base < lastBase {
		base += baseStep
	}
	var hide, reveal []string
	for i, r := range special() {
		stand := string(base + rune(i))
		hide = append(hide, string(r), stand)
		reveal = append(reveal, stand, string(r))
	}
	return shield{base: base, hider: strings.NewReplacer(hide...), finder: strings.NewReplacer(reveal...)}
}

func (s shield) hide(text []byte) []byte {
	if s.base == 0 {
		return text
	}
	return []byte(s.hider.Replace(string(text)))
}

func (s shield) reveal(n *yaml.Node) {
	if s.base == 0 {
		return
	}
	n.Value = s.finder.Replace(n.Value)
	n.HeadComment = s.finder.Replace(n.HeadComment)
	n.LineComment = s.finder.Replace(n.LineComment)
	n.FootComment = s.finder.Replace(n.FootComment)
	for _, child := range n.Content {
		s.reveal(child)
	}
}
