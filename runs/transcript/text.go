package transcript

// Texts of agents: cut on characters, without escapes, out of their shells.

import (
	"strings"
	"unicode/utf8"
)

// head cuts a text at n bytes, on a character.
func head(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// tail is the last n bytes of a text, from a character on.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// plain takes ANSI escapes and control characters out of a text.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == 0x1b {
			i++
			if i < len(text) && text[i] == '[' {
				i++
				for i < len(text) && (text[i] < 0x40 || text[i] > 0x7e) {
					i++
				}
			}
			if i < len(text) {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r >= ' ' && r != 0x7f || r == '\t' {
			b.WriteRune(r)
		}
		i += size
	}
	return strings.TrimSpace(b.String())
}

// plainLines is plain for a text of several lines.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// units is the length of a text in UTF-16 code units.
func units(text string) (n int64) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// unwrapped is a command line without the shell that an agent runs it in, such as
// /bin/bash -lc '…'.
func unwrapped(command string) string {
	words, ok := shellWords(command, 4)
	if !ok || len(words) != 3 || !strings.HasPrefix(words[1], "-") || !strings.HasSuffix(words[1], "c") {
		return command
	}
	switch words[0][strings.LastIndexByte(words[0], '/')+1:] {
	case "bash", "sh", "zsh", "dash":
		return words[2]
	}
	return command
}

// shellWords splits a command line at most into n words, as a shell does that expands
// nothing. ok is false for quotes that do not end.
func shellWords(line string, n int) (words []string, ok bool) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line) && len(words) < n; i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			inWord, i = true, i+1+end
		case '"':
			inner, end := doubleQuoted(line[i+1:])
			if end < 0 {
				return nil, false
			}
			word.WriteString(inner)
			inWord, i = true, i+1+end
		case '\\':
			if i++; i < len(line) {
				word.WriteByte(line[i])
			}
			inWord = true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, true
}

// doubleQuoted reads a text up to the quote that ends it, whose place it returns, -1
// for none.
func doubleQuoted(text string) (inner string, end int) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), i
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`", text[i+1]) >= 0:
			i++
		}
		b.WriteByte(text[i])
	}
	return "", -1
}
