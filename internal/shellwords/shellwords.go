// Package shellwords parses and writes command lines of shells. It extracts the command that a
// shell was asked to execute, and joins words into a line that a shell splits again.
package shellwords

import (
	"path"
	"strings"
)

// Unwrap returns a command line without the shell that an agent runs it in: the script of
// bash -lc '...', sh -c "..." and the like, also if several are nested. A line that is anything
// but a shell, one option and one script stays unchanged. So does a line whose script the outer
// shell would expand first.
func Unwrap(line string) string {
	for {
		script, ok := script(line)
		if !ok {
			return line
		}
		line = script
	}
}

// script returns the script of a command line that consists of a shell, one option with c in
// it, and one word.
func script(line string) (string, bool) {
	shell, rest, ok := word(line)
	if !ok || !isShell(shell) {
		return "", false
	}
	option, rest, ok := word(rest)
	if !ok || !isCommandOption(option) {
		return "", false
	}
	script, rest, ok := word(rest)
	return script, ok && strings.Trim(rest, blanks) == ""
}

func isShell(name string) bool {
	switch path.Base(name) {
	case "bash", "sh", "zsh", "dash":
		return true
	}
	return false
}

// isCommandOption reports whether an option announces a script: -c, alone or with the letters
// of a login, interactive or strict shell.
func isCommandOption(option string) bool {
	letters, ok := strings.CutPrefix(option, "-")
	return ok && strings.HasSuffix(letters, "c") && strings.Trim(letters, "ileuxc") == ""
}

const blanks = " \t"

// word splits the first word off a line and removes its quotes, as a shell does. It fails on
// anything that a shell would interpret: expansions, operators, and unclosed quotes.
func word(line string) (text, rest string, ok bool) {
	line = strings.TrimLeft(line, blanks)
	var b strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case ' ', '\t':
			return b.String(), line[i:], true
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return "", "", false
			}
			b.WriteString(line[i+1 : i+1+end])
			i += end + 2
		case '"':
			n, ok := doubleQuoted(&b, line[i+1:])
			if !ok {
				return "", "", false
			}
			i += n + 1
		case '\\':
			if i+1 == len(line) || line[i+1] == '\n' {
				return "", "", false
			}
			b.WriteByte(line[i+1])
			i += 2
		case '$', '`', ';', '&', '|', '<', '>', '(', ')', '{', '}', '*', '?', '[', '~', '#', '!', '\n', '\r':
			return "", "", false
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), "", line != ""
}

// doubleQuoted appends the text up to the closing quote and returns the number of bytes read,
// including that quote.
func doubleQuoted(b *strings.Builder, text string) (n int, ok bool) {
	for n < len(text) {
		switch c := text[n]; {
		case c == '"':
			return n + 1, true
		case c == '$' || c == '`':
			return 0, false
		case c == '\\' && n+1 < len(text) && strings.IndexByte("\\\"$`", text[n+1]) >= 0:
			b.WriteByte(text[n+1])
			n += 2
		case c == '\\' && n+1 < len(text) && text[n+1] == '\n':
			n += 2
		default:
			b.WriteByte(c)
			n++
		}
	}
	return 0, false
}

// Join returns words as a line that a shell splits into the same words. It does not quote words
// without characters that a shell interprets.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.ContainsFunc(word, needsQuoting) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// needsQuoting reports whether a shell may interpret a character.
func needsQuoting(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r >= 0x80:
		return false
	}
	return !strings.ContainsRune("_@%+=:,./-", r)
}
