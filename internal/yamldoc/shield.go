package yamldoc

// Characters that YAML 1.2 allows but the library rejects or treats as line breaks. They are
// replaced by private-use characters that the text does not contain, and restored afterwards.
// The same goes for JSON escapes that the library does not know: \/ and surrogate pairs, which
// have a meaning only between double quotes.

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

type shield struct {
	base   rune // 0 if there is nothing to hide
	hider  *strings.Replacer
	finder *strings.Replacer
	// slash replaces an escaped slash, backslash the backslash of a surrogate
	// escape.
	slash, backslash string
}

// special returns those characters: DEL, the C1 controls including NEL, the line and paragraph
// separators, and a byte order mark inside the text.
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
			found = found || text[at] == '\\' && foreignEscape(text[at:]) != none
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
	next := base + rune(len(special()))
	return shield{
		base: base, hider: strings.NewReplacer(hide...), finder: strings.NewReplacer(reveal...), slash: string(next), backslash: string(next + 1),
	}
}

// escape is a kind of escape that JSON has and the library does not know.
type escape int

const (
	none escape = iota
	slash
	surrogate
)

// foreignEscape returns the kind of escape that text begins with.
func foreignEscape(text []byte) escape {
	switch {
	case len(text) >= 2 && text[1] == '/':
		return slash
	case len(text) >= 6 && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D'):
		if n, err := strconv.ParseUint(string(text[2:6]), 16, 32); err == nil && utf16.IsSurrogate(rune(n)) {
			return surrogate
		}
	}
	return none
}

func (s shield) hide(text []byte) []byte {
	if s.base == 0 {
		return text
	}
	var out strings.Builder
	from := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		switch foreignEscape(text[at:]) {
		case slash:
			out.Write(text[from:at])
			out.WriteString(s.slash)
			from = at + 2
		case surrogate:
			out.Write(text[from:at])
			out.WriteString(s.backslash)
			from = at + 1
		case none:
		}
		at++ // an escaped backslash begins no escape
	}
	out.Write(text[from:])
	return []byte(s.hider.Replace(out.String()))
}

func (s shield) reveal(n *yaml.Node) {
	if s.base == 0 {
		return
	}
	if n.Style&yaml.DoubleQuotedStyle != 0 {
		n.Value = s.unescape(n.Value)
	}
	n.Value = s.asWritten(n.Value)
	n.HeadComment = s.asWritten(n.HeadComment)
	n.LineComment = s.asWritten(n.LineComment)
	n.FootComment = s.asWritten(n.FootComment)
	for _, child := range n.Content {
		s.reveal(child)
	}
}

func (s shield) asWritten(text string) string {
	return s.finder.Replace(strings.NewReplacer(s.slash, `\/`, s.backslash, `\`).Replace(text))
}

// unescape decodes the replaced escapes. Half a surrogate pair becomes U+FFFD.
func (s shield) unescape(text string) string {
	parts := strings.Split(strings.ReplaceAll(text, s.slash, "/"), s.backslash)
	var out strings.Builder
	out.WriteString(parts[0])
	units := make([]uint16, 0, len(parts)-1)
	for _, part := range parts[1:] { // each begins with u and four digits
		n, _ := strconv.ParseUint(part[1:5], 16, 16)
		units = append(units, uint16(n))
		if len(part) > 5 {
			out.WriteString(string(utf16.Decode(units)))
			out.WriteString(part[5:])
			units = units[:0]
		}
	}
	out.WriteString(string(utf16.Decode(units)))
	return out.String()
}
