package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// corpus returns secrets as they occur in practice, each with the part that must be masked.
func corpus() (all [][2]string) {
	letters := "Q7wZ3rT9yU1iO5pA2sD8fG4hJ6kL0xC3vB7nM1qW9eR5tY2uI8oP4aS6dF0gH3jK7lZ1xC5vB9nM2qW8eR4tY6u"
	digits := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	upper := strings.ToUpper(letters)
	bare := map[string]string{
		"Stripe": "sk_live_" + letters[:24], "Stripe test": "sk_test_" + letters[:24], "Stripe restricted": "rk_live_" + letters[:24],
		"Stripe hook": "whsec_" + letters[:32], "npm": "npm_" + letters[:36], "PyPI": "pypi-" + letters[:60], "Hugging Face": "hf_" + letters[:34],
		"Google login": "ya29." + letters[:60], "Google client": "GOCSPX-" + letters[:28], "Google key": "AIza" + letters[:35],
		"SendGrid": "SG." + letters[:22] + "." + letters[:43], "DigitalOcean": "dop_v1_" + digits, "Vault": "hvs." + letters[:40],
		"age": "AGE-SECRET-KEY-1" + upper[:58], "GitLab": "glpat-" + letters[:20], "GitLab runner": "glrt-" + letters[:20], "Docker": "dckr_pat_" + letters[:27],
		"Shopify": "shpat_" + digits[:32], "Groq": "gsk_" + letters[:52], "xAI": "xai-" + letters[:60], "Replicate": "r8_" + letters[:37],
		"Supabase": "sbp_" + digits[:40], "Linear": "lin_api_" + letters[:40], "Atlassian": "ATATT3" + letters[:60], "New Relic": "NRAK-" + upper[:27],
		"Grafana": "glsa_" + letters[:32], "Doppler": "dp.pt." + letters[:43], "PlanetScale": "pscale_tkn_" + letters[:43],
		"Postman": "PMAK-" + digits[:24] + "-" + digits[:34], "Figma": "figd_" + letters[:40], "Notion": "ntn_" + letters[:46], "Pulumi": "pul-" + digits[:40],
		"Databricks": "dapi" + digits[:32], "Mailgun": "key-" + digits[:32], "OpenAI": "sk-proj-" + letters[:48], "Anthropic": "sk-ant-api03-" + letters[:60],
		"GitHub": "ghp_" + letters[:36], "GitHub fine": "github_pat_" + letters[:22] + "_" + letters[:59], "Slack bot": "xoxb-123456789012-" + letters[:24],
		"AWS": "AKIA" + upper[:16], "Terraform": letters[:14] + ".atlasv1." + letters[:67], "Telegram": "1234567890:AA" + letters[:33],
	}
	for _, secret := range bare {
		all = append(all, [2]string{"used " + secret + " here", secret}, [2]string{fmt.Sprintf(`{"line":"x %s y"}`, secret), secret},
			[2]string{"export X=" + secret + "\n", secret}, [2]string{"https://example.com/a?b=" + secret + "&c=1", secret})
	}
	v := letters[:24]
	for _, c := range []string{
		"Cookie: session=%s; theme=dark", "Set-Cookie: sid=%s; HttpOnly", `"cookie": "a=%s"`, "curl -u dev:%s https://example.com", "curl --user 'dev:%s' x",
		"tool --token %s run", "tool --api-key=%s", "tool --password '%s'", "tool --client-secret %s", "gh auth --with-token --pat %s",
		"mysql -h db -u root -p%s shop", "sshpass -p%s ssh host", "machine example.com login dev password %s", "login dev\n  password %s",
		`{"auths":{"r":{"auth":"%s"}}}`, "<password>%s</password>", `<db:adminPassword enc="no">%s</db:adminPassword>`, "<apiKey>%s</apiKey>",
		"https://x.example/v1?key=%s", "https://x.example/v1?a=1&access_token=%s&b=2", "https://x.example/blob?sv=1&sig=%s",
		"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=%s;EndpointSuffix=x", "Endpoint=sb://x/;SharedAccessKey=%s",
		"https://hooks.slack.com/services/T000/B000/%s", "https://discord.com/api/webhooks/1234/%s", "Server=db;User Id=sa;Pwd=%s;",
		"DB_PWD=%s", "GIT_PAT=%s", "REPO_CREDS=%s", "SENTRY_DSN=%s", "SESSION_COOKIE=%s", "NPM_AUTH=%s", "KEY_PASSPHRASE=%s", "postgres://dev:%s@db/shop",
		"Authorization: Bearer %s", "password: %s", `"client_secret": "%s"`, "redis://:%s@cache:6379",
	} {
		all = append(all, [2]string{fmt.Sprintf(c, v), v})
	}
	return all
}

// TestCorpus checks that no secret of the corpus is left unmasked.
func TestCorpus(t *testing.T) {
	t.Parallel()
	all := corpus()
	if len(all) < 200 {
		t.Fatalf("%d shapes are too few", len(all))
	}
	r := NewRedactor(nil)
	leaked := 0
	for _, shape := range all {
		if got := r.Text(shape[0]); strings.Contains(got, shape[1]) {
			leaked++
			t.Errorf("%q stays in %q", shape[1], got)
		}
	}
	t.Logf("%d of %d leaked", leaked, len(all))
}

// TestOtherEncodings checks that a known value is masked in every encoding.
func TestOtherEncodings(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t/valüe+of=mine"
	values := FromEnviron([]string{"DEPLOY_PAT=" + secret, "PWD=/work/place", "OLDPWD=/work/before"})
	for name, text := range map[string]string{
		"as it is": secret, "base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 for addresses": base64.URLEncoding.EncodeToString([]byte(secret)),
		"with a user, base64": base64.StdEncoding.EncodeToString([]byte("dev:" + secret)), "with two more": base64.StdEncoding.EncodeToString([]byte("ab" + secret + "cd")),
		"hex": hex.EncodeToString([]byte(secret)), "capital hex": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "capitals": strings.ToUpper(secret),
	} {
		if got := values.String("x " + text + " y"); !strings.Contains(got, Mask) || strings.Contains(got, text) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := values.String("in /work/place"); got != "in /work/place" {
		t.Error(got)
	}
}
