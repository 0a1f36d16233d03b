package redact

// Secrets that are recognized by what surrounds them, in a shell command, a header, a file of
// logins or a document. Their values have no shape of their own.

import (
	"regexp"
	"strings"

	"ac/internal/lazyregexp"
)

// surrounding is the context of a secret. The secret is the first group of the pattern. A text
// without any of the hints, which are in lower case, cannot match.
type surrounding struct {
	hints   []string
	pattern func() *regexp.Regexp
}

// inContext compiles a pattern at its first use, because most texts contain no hint.
func inContext(pattern string, hints ...string) surrounding {
	return surrounding{hints, lazyregexp.New(pattern)}
}

var known = []surrounding{
	inContext(`(?i)\b(?:set-)?cookie["']?\s*[:=]\s*["']?([^"'\r\n\\]{4,})`, "cookie"),
	inContext(`(?:^|[\s"'\[,])(?:-u|--user|--proxy-user)["']?[ =,]\s*["']?[^\s:"'/]{1,64}:([^\s"'@]{3,})`, "-u", "--user", "--proxy-user"),
	inContext(`(?i)--(?:[a-z0-9]+-)*(?:token|password|passwd|passphrase|pass|secret|api-?key|access-key|secret-key|auth|credentials?|pat)["']?[ =,]\s*["']?([^\s"',\]-][^\s"',\]]{3,})`, "--"),
	inContext(`(?i)\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)\b[^\n|;&]{0,200}?\s-p["']?([^\s"'-][^\s"']{2,})`, "mysql", "mariadb", "sshpass"),
	inContext(`(?i)\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+("[^"]+"|\S+)`, "login"),
	inContext(`(?i)"(?:auth|identitytoken|registrytoken)"\s*:\s*"([A-Za-z0-9+/=._-]{8,})"`, "auth", "token"),
	inContext(`(?i)<(?:[a-z0-9]+:)?[a-z0-9._-]*(?:password|passwd|passphrase|secret|token|api-?key|privatekey|accesskey)[a-z0-9._-]*(?:\s[^>]{0,200})?>\s*([^<\s][^<]*)`, "password", "passwd", "passphrase", "secret", "token", "key"),
	inContext(`(?i)[?&;](?:api[_-]?key|key|token|access[_-]?token|refresh[_-]?token|id[_-]?token|auth|sig|signature|x-amz-signature|x-goog-signature|password|passwd|secret|client[_-]?secret|code)=([^&\s"'#<>\\]{6,})`, "="),
	inContext(`(?i)\b(?:accountkey|sharedaccesskey|sharedaccesssignature|sharedsecret)\s*=\s*([^;\s"']{8,})`, "accountkey", "sharedaccess", "sharedsecret"),
	inContext(`(?i)hooks\.slack\.com/(?:services|workflows|triggers)/([a-z0-9/_+-]{16,})`, "hooks.slack.com"),
	inContext(`(?i)discord(?:app)?\.com/api/webhooks/[0-9]+/([a-z0-9_-]{20,})`, "webhooks"),
	inContext(`(?i)\.webhook\.office\.com/webhookb2/([^\s"']{20,})`, "webhook.office.com"),
	inContext(`\b[0-9]{8,10}:(AA[A-Za-z0-9_-]{33})`, ":aa"),
	inContext(`\b([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,})`, "atlasv1"),
	inContext(`(?i)\b(?:pwd|passwd|password)\s*[:=]\s*([^\s;"',]{3,});`, "pwd", "passw"),
	inContext(`(?i)\b[a-z0-9]+_(?:pwd|pat|creds|credentials|dsn|cookie|auth)["']?\s*[:=]\s*["']?([^\s"',;]{4,})`, "_pwd", "_pat", "_creds", "_credentials", "_dsn", "_cookie", "_auth"),
}

// redactSurrounded redacts the secrets that their surroundings reveal.
func redactSurrounded(text string) string {
	lower := strings.ToLower(text)
	for _, s := range known {
		hinted := false
		for _, hint := range s.hints {
			if hinted = strings.Contains(lower, hint); hinted {
				break
			}
		}
		if !hinted {
			continue
		}
		w := rewrite{text: text}
		for _, m := range s.pattern().FindAllStringSubmatchIndex(text, -1) {
			if found := text[m[2]:m[3]]; !isMarked(text, m[2]) && !strings.HasPrefix(found, "$") && found != "null" {
				w.replace(m[2], m[3], markSecret)
			}
		}
		text = w.result()
	}
	return text
}

// isMarked reports whether there is a mark at an offset, or after the characters that assignments
// allows between a name and its value. It prevents redacting the same value twice.
func isMarked(text string, at int) bool {
	for next := -1; next != at; {
		next = at
		at = between.run(text, blanks(text, at))
	}
	return strings.HasPrefix(text[at:], "[REDACTED")
}

// between is the characters that may be between a name and its value: the second character of
// an operator, and emphasis.
var between = classOf("**``::==>>")
