package redact

// Secrets that begin with a characteristic prefix.

import "strings"

// token is a kind of secret: a prefix, at least a number of bytes of a set, and everything
// after them that continues the word.
type token struct {
	prefix string
	set    *class
	least  int
	only   bool // exactly that many bytes, and the word ends there
	mark   string
}

// kinds are the known prefixes, in the order of the search.
var kinds = []token{
	{prefix: "sk-", set: wordDash, least: 19, mark: markAPIKey},
	{prefix: "ghp_", set: alphanumeric, least: 20, mark: markGitHub},
	{prefix: "gho_", set: alphanumeric, least: 20, mark: markGitHub},
	{prefix: "ghu_", set: alphanumeric, least: 20, mark: markGitHub},
	{prefix: "ghs_", set: alphanumeric, least: 20, mark: markGitHub},
	{prefix: "ghr_", set: alphanumeric, least: 20, mark: markGitHub},
	{prefix: "xoxb-", set: dashed, least: 16, mark: markSlack},
	{prefix: "xoxp-", set: dashed, least: 16, mark: markSlack},
	{prefix: "xoxa-", set: dashed, least: 16, mark: markSlack},
	{prefix: "xoxs-", set: dashed, least: 16, mark: markSecret},
	{prefix: "xoxr-", set: dashed, least: 16, mark: markSecret},
	{prefix: "xapp-", set: dashed, least: 16, mark: markSecret},
	{prefix: "github_pat_", set: word, least: 20, mark: markSecret},
	{prefix: "glpat-", set: wordDash, least: 20, mark: markSecret},
	{prefix: "AKIA", set: upper, least: 16, only: true, mark: markSecret},
	{prefix: "ASIA", set: upper, least: 16, only: true, mark: markSecret},
	{prefix: "AIza", set: wordDash, least: 35, mark: markSecret},
	{prefix: "ya29.", set: dotted, least: 20, mark: markSecret},          // Google, access token
	{prefix: "GOCSPX-", set: wordDash, least: 20, mark: markSecret},      // Google, client secret
	{prefix: "1//0", set: wordDash, least: 30, mark: markSecret},         // Google, refresh token
	{prefix: "sk_live_", set: alphanumeric, least: 16, mark: markSecret}, // Stripe
	{prefix: "sk_test_", set: alphanumeric, least: 16, mark: markSecret},
	{prefix: "rk_live_", set: alphanumeric, least: 16, mark: markSecret},
	{prefix: "rk_test_", set: alphanumeric, least: 16, mark: markSecret},
	{prefix: "whsec_", set: base64Set, least: 16, mark: markSecret},
	{prefix: "npm_", set: alphanumeric, least: 30, mark: markSecret},
	{prefix: "pypi-", set: wordDash, least: 40, mark: markSecret},
	{prefix: "hf_", set: alphanumeric, least: 24, mark: markSecret},     // Hugging Face
	{prefix: "SG.", set: dotted, least: 40, mark: markSecret},           // SendGrid
	{prefix: "dop_v1_", set: alphanumeric, least: 32, mark: markSecret}, // DigitalOcean
	{prefix: "doo_v1_", set: alphanumeric, least: 32, mark: markSecret},
	{prefix: "dor_v1_", set: alphanumeric, least: 32, mark: markSecret},
	{prefix: "hvs.", set: wordDash, least: 20, mark: markSecret}, // Vault
	{prefix: "hvb.", set: wordDash, least: 20, mark: markSecret},
	{prefix: "hvr.", set: wordDash, least: 20, mark: markSecret},
	{prefix: "AGE-SECRET-KEY-1", set: upper, least: 40, mark: markSecret},
	{prefix: "glptt-", set: wordDash, least: 20, mark: markSecret}, // GitLab
	{prefix: "gldt-", set: wordDash, least: 20, mark: markSecret},
	{prefix: "glrt-", set: wordDash, least: 20, mark: markSecret},
	{prefix: "dckr_pat_", set: wordDash, least: 20, mark: markSecret},  // Docker
	{prefix: "shpat_", set: alphanumeric, least: 24, mark: markSecret}, // Shopify
	{prefix: "shpss_", set: alphanumeric, least: 24, mark: markSecret},
	{prefix: "gsk_", set: alphanumeric, least: 30, mark: markSecret}, // Groq
	{prefix: "xai-", set: alphanumeric, least: 30, mark: markSecret},
	{prefix: "r8_", set: alphanumeric, least: 30, mark: markSecret},  // Replicate
	{prefix: "sbp_", set: alphanumeric, least: 30, mark: markSecret}, // Supabase
	{prefix: "lin_api_", set: alphanumeric, least: 30, mark: markSecret},
	{prefix: "ATATT3", set: wordDash, least: 40, mark: markSecret}, // Atlassian
	{prefix: "NRAK-", set: upper, least: 20, mark: markSecret},     // New Relic
	{prefix: "glsa_", set: word, least: 30, mark: markSecret},      // Grafana
	{prefix: "dp.pt.", set: alphanumeric, least: 30, mark: markSecret},
	{prefix: "pscale_tkn_", set: wordDash, least: 30, mark: markSecret},
	{prefix: "PMAK-", set: dashed, least: 40, mark: markSecret}, // Postman
	{prefix: "figd_", set: wordDash, least: 30, mark: markSecret},
	{prefix: "ntn_", set: alphanumeric, least: 30, mark: markSecret}, // Notion
	{prefix: "pul-", set: alphanumeric, least: 30, mark: markSecret}, // Pulumi
	{prefix: "dapi", set: hexDigits, least: 32, mark: markSecret},    // Databricks
	{prefix: "sq0csp-", set: wordDash, least: 30, mark: markSecret},  // Square
	{prefix: "EAAAE", set: wordDash, least: 50, mark: markSecret},
	{prefix: "key-", set: hexDigits, least: 32, only: true, mark: markSecret}, // Mailgun
}

func redactTokens(text string) string {
	for i := range kinds {
		text = kinds[i].redact(text)
	}
	return text
}

func (k *token) redact(text string) string {
	w := rewrite{text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], k.prefix)
		if i < 0 {
			return w.result()
		}
		start := at + i
		at = start + len(k.prefix)
		if end := k.end(text, at); end > 0 && startsWord(text, start) {
			w.replace(start, end, k.mark)
			at = end
		}
	}
}

// end returns where the secret after a prefix ends, 0 if there is none.
func (k *token) end(text string, at int) int {
	enough := at
	for enough < len(text) && enough-at < k.least && k.set[text[enough]] {
		enough++
	}
	if enough-at < k.least || !alphanumeric[text[at]] && k.prefix == "sk-" {
		return 0
	}
	if k.only {
		if enough < len(text) && word[text[enough]] {
			return 0
		}
		return enough
	}
	return wordDash.run(text, enough)
}

// redactWebTokens redacts JSON Web Tokens: parts in base64url that dots separate, the first one an
// object.
func redactWebTokens(text string) string {
	const prefix, leastHead, leastBody = "eyJ", 8, 4
	w := rewrite{text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], prefix)
		if i < 0 {
			return w.result()
		}
		start := at + i
		head := wordDash.run(text, start)
		at = head
		if head-start < leastHead || !startsWord(text, start) || head == len(text) || text[head] != '.' {
			continue
		}
		body := wordDash.run(text, head+1)
		if body-head-1 < leastBody || body == len(text) || text[body] != '.' {
			continue
		}
		at = wordDash.run(text, body+1)
		for at+1 < len(text) && text[at] == '.' && wordDash[text[at+1]] { // encrypted ones have five parts
			at = wordDash.run(text, at+1)
		}
		w.replace(start, at, markSecret)
	}
}
