package redact

// Secrets that are recognized by what surrounds them: schemes of authorization, passwords in
// URLs, and private keys between their fences.

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// credentialAfter finds the next "<scheme><blanks>" at or after an offset and returns where the
// credential after it begins, or -1.
func credentialAfter(text, scheme string, at int) int {
	for {
		start := foldIndex(text, scheme, at)
		if start < 0 {
			return -1
		}
		at = start + len(scheme)
		credential := blank.run(text, at)
		if credential > at && startsWord(text, start) {
			return credential
		}
	}
}

// redactBearers redacts what follows the word Bearer.
func redactBearers(text string) string {
	const least, leastLoose = 12, 16
	w := rewrite{text: text}
	for at := 0; ; {
		start := credentialAfter(text, "bearer", at)
		if start < 0 {
			return w.result()
		}
		end, loose := bearerSet.run(text, start), looseBearer.run(text, start)
		tight := end
		for end > start && !word[text[end-1]] {
			end-- // a full stop after it is not part of it
		}
		if loose > tight && (end-start >= least || loose-start >= leastLoose) {
			end = loose
		}
		at = max(start, end)
		if end-start >= least {
			w.replace(start, end, markBearer)
		}
	}
}

// redactBasics redacts what follows the word Basic in two cases: it is a name and a password in
// base64, or it follows the name of an Authorization header. The word is also plain English.
func redactBasics(text string) string {
	const leastInHeader = 6
	w := rewrite{text: text}
	for at := 0; ; {
		start := credentialAfter(text, "basic", at)
		if start < 0 {
			return w.result()
		}
		end := base64Set.run(text, start)
		credential := text[start:end]
		for end < len(text) && text[end] == '=' {
			end++
		}
		at = end
		if namesUser(credential) || inHeader(text, start) && len(credential) >= leastInHeader {
			w.replace(start, end, markSecret)
		}
	}
}

func namesUser(credential string) bool {
	decode := base64.RawStdEncoding
	if strings.ContainsAny(credential, "-_") {
		decode = base64.RawURLEncoding
	}
	plain, err := decode.DecodeString(credential)
	if err != nil || !utf8.Valid(plain) || !strings.Contains(string(plain), ":") {
		return false
	}
	return !strings.ContainsFunc(string(plain), unicode.IsControl)
}

// inHeader reports whether "Authorization" occurs shortly before an offset.
func inHeader(text string, at int) bool {
	return strings.Contains(strings.ToLower(text[max(0, at-40):at]), "authorization")
}

// redactURLPasswords redacts passwords in URLs: scheme://user:password@host.
func redactURLPasswords(text string) string {
	w := rewrite{text: text}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], ':')
		if i < 0 {
			return w.result()
		}
		at += i + 1
		var authority int
		switch {
		case strings.HasPrefix(text[at:], "//"):
			authority = at + len("//")
		case strings.HasPrefix(text[at:], `\/\/`): // slashes that are escaped in JSON
			authority = at + len(`\/\/`)
		default:
			continue
		}
		end := authority
		for end < len(text) && !blank[text[end]] && strings.IndexByte("\"'<>`", text[end]) < 0 &&
			!strings.HasPrefix(text[end:], "://") {
			end++
		}
		if from, to := password(text[authority:end]); to > from {
			w.replace(authority+from, authority+to, markSecret)
		}
		at = end
	}
}

// password returns the range of the password in a URL without its scheme. It distinguishes a
// password that contains a "/" from a port.
func password(address string) (from, to int) {
	host := strings.IndexAny(address, `/?#\`)
	if host < 0 {
		host = len(address)
	}
	colon := strings.IndexByte(address[:host], ':')
	if colon < 0 {
		return 0, 0
	}
	from = colon + 1
	if to = strings.LastIndexByte(address[:host], '@'); to >= from {
		return from, to
	}
	port := from
	for port < host && address[port] >= '0' && address[port] <= '9' {
		port++
	}
	if port == host || address[0] == '[' || strings.IndexByte(address[:from], '@') >= 0 {
		return 0, 0
	}
	return from, strings.LastIndexByte(address, '@')
}

// redactPrivateKeys redacts private keys with their fences, including keys that are truncated before
// the second fence.
func redactPrivateKeys(text string) string {
	const begin, end, fence = "-----BEGIN ", "-----END ", "-----"
	w := rewrite{text: text}
	label := func(at int) int { // the end of the fence with a label that begins there, or 0
		stop := at
		for stop < len(text) && (upper[text[stop]] || text[stop] == ' ') {
			stop++
		}
		if name := text[at:stop]; strings.HasPrefix(text[stop:], fence) &&
			(strings.HasSuffix(name, "PRIVATE KEY") || strings.HasSuffix(name, "PRIVATE KEY BLOCK")) {
			return stop + len(fence)
		}
		return 0
	}
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return w.result()
		}
		start := at + i
		at = start + len(begin)
		body := label(at)
		if body == 0 {
			continue
		}
		at = body
		rest := text[body:]
		if next := strings.Index(rest, begin); next >= 0 {
			rest = rest[:next]
		}
		closing := strings.Index(rest, end)
		if closing >= 0 {
			closing = label(body + closing + len(end))
		}
		if closing <= 0 {
			closing = encoded(text, body)
		}
		if closing > body {
			at = closing
			w.replace(start, closing, markSecret)
		}
	}
}

// encoded returns the end of the lines of base64 that begin at an offset. Line ends may be
// written as escapes.
func encoded(text string, at int) int {
	const leastLine = 16
	for end := at; ; {
		end = blank.run(text, end)
		for end+1 < len(text) && text[end] == '\\' && strings.IndexByte(`nr\`, text[end+1]) >= 0 {
			if end++; text[end] != '\\' {
				end++
			}
			end = blank.run(text, end)
		}
		line := end
		for end < len(text) && (alphanumeric[text[end]] || strings.IndexByte("+/=", text[end]) >= 0) {
			end++
		}
		if end == line || end-line < leastLine && end < len(text) {
			return at
		}
		at = end
	}
}
