package redact

// Values assigned to secret names: api_key = ..., "token": "...", and the same in JSON that is
// embedded in a text, at any depth of escaping.

import "strings"

// redactAssignments redacts the values of secret names in a text.
func redactAssignments(text string) string { return redactAssigned(text, isHarmless) }

// redactAssigned redacts the values of secret names, except unquoted ones that harmless accepts.
func redactAssigned(text string, harmless func(value string, name naming, quoted bool) bool) string {
	w := rewrite{text: text}
	for at := 0; ; {
		i := strings.IndexAny(text[at:], ":=")
		if i < 0 {
			return w.result()
		}
		sign := at + i
		name, quoted := nameBefore(text, at, sign)
		at = sign + 1
		if !name.secret {
			continue
		}
		if at < len(text) && (text[at] == '=' || text[at] == '>') { // :=, ==, =>
			at++
		}
		v := valueAt(text, at, indentOf(text, sign))
		if quoted && !v.quoted && v.end > v.start && text[v.start] == '[' {
			at = w.list(v.start + 1)
			continue
		}
		if v.end == v.start || !v.quoted && harmless(text[v.start:v.end], name, quoted) {
			continue
		}
		if !v.quoted && quoted {
			if v.end = v.start + strings.IndexAny(text[v.start:v.end]+",", ",}]"); v.end == v.start {
				continue
			}
		}
		w.replace(v.start, v.end, Mask)
		at = v.end
	}
}

// list replaces the strings of a list of strings and returns where they end.
func (w *rewrite) list(at int) int {
	for {
		at = blanks(w.text, at)
		quote := at
		for quote < len(w.text) && w.text[quote] == '\\' {
			quote++
		}
		if quote == len(w.text) || w.text[quote] != '"' && w.text[quote] != '\'' {
			return at
		}
		v := inQuotes(w.text, at, quote)
		if v.end > v.start {
			w.replace(v.start, v.end, Mask)
		}
		at = v.end + (quote - at) + 1
		if at >= len(w.text) || w.text[at] != ',' {
			return min(at, len(w.text))
		}
		at++
	}
}

// nameBefore classifies the name before a sign. The name does not begin before from. quoted is
// set if it is in quotes.
func nameBefore(text string, from, sign int) (name naming, quoted bool) {
	end := sign
	for end > from && (blank[text[end-1]] || text[end-1] == '*' || text[end-1] == '`') {
		end--
	}
	if end > from && (text[end-1] == '"' || text[end-1] == '\'') {
		quoted = true
		for end--; end > from && text[end-1] == '\\'; {
			end--
		}
	}
	start := end
	for start > from && wordDash[text[start-1]] {
		start--
	}
	if start == end {
		return naming{}, quoted
	}
	for at := min(end, start+8); at > start; at-- { // the name may follow an escape
		if endsEscape(text, at) {
			start = at
			break
		}
	}
	return nameOf(text[start:end]), quoted
}

// isHarmless reports whether an unquoted value need not be hidden: a number that counts, or what
// JSON has besides strings.
func isHarmless(value string, name naming, quoted bool) bool {
	if quoted {
		switch value[0] {
		case '{', '[':
			return true
		}
		value = strings.TrimRight(value, ",}]")
		if value == "null" || value == "true" || value == "false" {
			return true
		}
	}
	value = strings.TrimRight(value, ",;.)}]")
	return number(value) && (quoted || name.counted && len(value) <= longestCount)
}

// longestCount is the length of the longest number that counts something.
const longestCount = 12

// isHarmlessOrCount is plain, but takes any short number for a count, whatever its name.
func isHarmlessOrCount(value string, name naming, quoted bool) bool {
	if isHarmless(value, name, quoted) {
		return true
	}
	value = strings.TrimRight(value, ",;.)}]")
	return number(value) && len(value) <= longestCount
}

func number(text string) bool {
	digits := false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c == '.' || c == '-' && i == 0:
		default:
			return false
		}
	}
	return digits
}

// value is the range of a value, without the quotes around it.
type value struct {
	start, end int
	quoted     bool
}

// valueAt finds the value at or after an offset. indent is the indentation of the line that has
// the name.
func valueAt(text string, at, indent int) value {
	for {
		at = blanks(text, at)
		emphasis := at
		for emphasis < len(text) && text[emphasis] == '*' {
			emphasis++
		}
		if emphasis == at || emphasis == len(text) || !blank[text[emphasis]] {
			break
		}
		at = emphasis // **Token:** value
	}
	if body, end := block(text, at, indent); end > body {
		return value{start: body, end: end}
	}
	if prefix := at; prefix < len(text) && strings.IndexByte("fFbBrRuUL$@", text[prefix]) >= 0 { // f"...", $'...'
		prefix++
		if prefix < len(text) && strings.IndexByte("fFbBrR", text[prefix]) >= 0 {
			prefix++
		}
		if prefix < len(text) && (text[prefix] == '"' || text[prefix] == '\'') {
			at = prefix
		}
	}
	quote := at
	for quote < len(text) && text[quote] == '\\' {
		quote++
	}
	if quote < len(text) && (text[quote] == '"' || text[quote] == '\'') {
		return inQuotes(text, at, quote)
	}
	return value{start: at, end: bareEnd(text, at)}
}

// blanks returns the end of the white space at an offset. Line ends that are written as escapes
// count as white space.
func blanks(text string, at int) int {
	for {
		at = blank.run(text, at)
		next := lineEnd(text, at)
		if next == at {
			return at
		}
		at = next
	}
}

// lineEnd skips one line end, which may be written as an escape.
func lineEnd(text string, at int) int {
	if at < len(text) && text[at] == '\n' {
		return at + 1
	}
	next := at
	for next < len(text) && text[next] == '\\' {
		next++
	}
	if next == at || next == len(text) || text[next] != 'n' && text[next] != 'r' && text[next] != 't' {
		return at
	}
	return next + 1
}

// bareEnd returns where a value without quotes ends. If it begins with a backtick, it may
// contain spaces up to the closing one. Backslashes before a quote belong to the quote.
func bareEnd(text string, at int) int {
	end := at
	if at < len(text) && text[at] == '`' {
		if line := strings.IndexAny(text[at+1:], "`\n"); line >= 0 && text[at+1+line] == '`' {
			end = at + 1 + line + 1
		}
	}
	for end < len(text) && !blank[text[end]] && text[end] != '"' && text[end] != '\'' {
		end++
	}
	if end < len(text) && !blank[text[end]] {
		for end > at && text[end-1] == '\\' {
			end--
		}
	}
	return end
}

// inQuotes finds the value in quotes. The opening quote is at quote, and the backslashes before
// it begin at at. A value that is not closed on its line ends with the line, or with the text
// that encloses it.
func inQuotes(text string, at, quote int) value {
	deep := quote - at
	for mark := text[at : quote+1]; ; { // """ is "" and the quote that counts
		next := quote + 1 + len(mark)
		if !strings.HasPrefix(text[quote+1:], mark) || !strings.HasPrefix(text[next:], mark) {
			break
		}
		quote = next + len(mark) - 1
	}
	levels := 0
	for ; deep > 0; deep /= 2 { // 1, 3, 7 backslashes
		levels++
	}
	v := value{start: quote + 1, quoted: true}
	slashes := 0
	for v.end = v.start; v.end < len(text) && text[v.end] != '\n'; v.end++ {
		switch text[v.end] {
		case '\\':
			slashes++
			continue
		case text[quote]:
			if closesQuote(slashes, levels) {
				v.end -= slashes
				if levels == 0 {
					v.end += slashes // the backslashes escape each other
				}
				return v
			}
		}
		slashes = 0
	}
	return v
}

// closesQuote reports whether a quote after so many backslashes closes a text that is quoted within so
// many levels, or closes one of those levels.
func closesQuote(slashes, levels int) bool {
	for range levels {
		if slashes%2 == 0 {
			return true
		}
		slashes /= 2
	}
	return slashes%2 == 0
}

// indentOf returns the indentation of the line at an offset. A text in quotes counts as the
// beginning of a line.
func indentOf(text string, at int) int {
	const far = 256 // deeper lines do not begin a block
	from := at
	for from > 0 && at-from < far && text[from-1] != '\n' && text[from-1] != '"' && (from < 2 || text[from-2:from] != `\n`) {
		from--
	}
	indent := 0
	for from+indent < at && text[from+indent] == ' ' {
		indent++
	}
	return indent
}

// block finds the lines of a YAML block, which "|" or ">" introduces. They are indented deeper
// than the line of their name.
func block(text string, at, indent int) (start, end int) {
	if at == len(text) || text[at] != '|' && text[at] != '>' {
		return 0, 0
	}
	for at++; at < len(text) && strings.IndexByte("+-0123456789", text[at]) >= 0; {
		at++
	}
	for at < len(text) && (text[at] == ' ' || text[at] == '\r') {
		at++
	}
	for line := lineEnd(text, at); line > at; {
		first := line
		for first < len(text) && text[first] == ' ' {
			first++
		}
		at = first
		for at < len(text) && lineEnd(text, at) == at && text[at] != '"' {
			at++
		}
		if strings.TrimSpace(text[first:at]) != "" {
			if first-line <= indent {
				break
			}
			if start == 0 {
				start = first
			}
			end = at
		}
		line = lineEnd(text, at)
	}
	return start, end
}
