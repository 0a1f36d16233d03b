package redact

// Names whose values are secret, in texts and in JSON.

import "strings"

// naming is the classification of a name.
type naming struct {
	secret bool
	// counted: the value may be a number that counts, as with max_token or password_length.
	counted bool
}

// nameOf classifies a name. It is secret if it is a secret word, or has one among the parts
// that "_", "-" or capitals separate: MY_API_KEY, token_secret, accessToken. Words that only
// begin with a secret word, such as tokens, are not secret.
func nameOf(name string) naming {
	if !mayBeSecret(name) {
		return naming{}
	}
	if found := classifyParts(separate(name, false)); found.secret {
		return found
	}
	return classifyParts(separate(name, true))
}

// mayBeSecret excludes most names quickly.
func mayBeSecret(name string) bool {
	for i := 0; i+3 <= len(name); i++ {
		switch name[i] | 0x20 { // lower case, for letters
		case 'k':
			if strings.EqualFold(name[i:i+3], "key") || i >= 2 && strings.EqualFold(name[i-2:i+1], "tok") {
				return true
			}
		case 's', 'p':
			if three := name[i : i+3]; strings.EqualFold(three, "sec") || strings.EqualFold(three, "pas") {
				return true
			}
		}
	}
	return false
}

func classifyParts(parts []string) naming {
	found := naming{}
	for i, part := range parts {
		size := 0
		switch part {
		case "token", "secret", "password", "passwd", "passphrase", "apikey", "privatekey":
			size = 1
		case "api", "private":
			if i+1 < len(parts) && parts[i+1] == "key" {
				size = 2
			}
		}
		if size > 0 {
			behind, before := i+size < len(parts), i > 0
			found = naming{secret: true, counted: behind || before && part == "token"}
		}
	}
	return found
}

// separate splits a name into its parts, in lower case and without trailing digits.
func separate(name string, capitals bool) (parts []string) {
	from := 0
	cut := func(to int) {
		if part := strings.TrimRight(strings.ToLower(name[from:to]), "0123456789"); part != "" {
			parts = append(parts, part)
		}
		from = to
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			cut(i)
			from = i + 1
		case capitals && i > from && c >= 'A' && c <= 'Z' && (name[i-1] < 'A' || name[i-1] > 'Z' || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'):
			cut(i)
		}
	}
	cut(len(name))
	return parts
}
