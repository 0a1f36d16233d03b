package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	alnum20 = "AbCdEfGhIjKlMnOpQr12"
	alnum36 = alnum20 + "StUvWxYz90123456"
	webJWT  = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	pemKey  = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAxyz0123456789+/abcdefghijklmnopqrstuvwxyzABCDEF\nq83vASNFZ4mrze8BI0VniavN\n-----END RSA PRIVATE KEY-----"
)

// TestText checks every pattern, and similar texts that must stay.
func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		// Prefixes.
		"a sk-" + alnum20 + " b":                              "a [REDACTED_API_KEY] b",
		"sk-" + alnum20[:18]:                                  "sk-" + alnum20[:18],
		"task-" + alnum20:                                     "task-" + alnum20,
		"sk-ant-api03-" + alnum20 + "-x_y":                    "[REDACTED_API_KEY]",
		"(sk-proj-abc_def-" + alnum20 + ")":                   "([REDACTED_API_KEY])",
		"ghp_" + alnum36:                                      "[REDACTED_GITHUB_TOKEN]",
		"gho_" + alnum36 + ".":                                "[REDACTED_GITHUB_TOKEN].",
		"ghu_" + alnum20:                                      "[REDACTED_GITHUB_TOKEN]",
		"ghs_" + alnum20 + " ghr_" + alnum20:                  "[REDACTED_GITHUB_TOKEN] [REDACTED_GITHUB_TOKEN]",
		"ghx_" + alnum20 + " ghp_short":                       "ghx_" + alnum20 + " ghp_short",
		"github_pat_11ABCDE_" + alnum36:                       "[REDACTED_SECRET]",
		"xoxb-1234567890-abcdefghij":                          "[REDACTED_SLACK_TOKEN]",
		"xoxp-1234567890-ab xoxa-1234567890ab":                "xoxp-1234567890-ab xoxa-1234567890ab",
		"xoxp-1234567890-abcdef":                              "[REDACTED_SLACK_TOKEN]",
		"xoxa-1234567890-abcdef":                              "[REDACTED_SLACK_TOKEN]",
		"xoxs-1234567890-abcdef":                              "[REDACTED_SECRET]",
		"xoxr-1234567890-abcdef":                              "[REDACTED_SECRET]",
		"xapp-1-A1234567890-abcdef":                           "[REDACTED_SECRET]",
		"AKIAIOSFODNN7EXAMPLE!":                               "[REDACTED_SECRET]!",
		"ASIAIOSFODNN7EXAMPLE":                                "[REDACTED_SECRET]",
		"AKIAIOSFODNN7EXAMPLEX":                               "AKIAIOSFODNN7EXAMPLEX",
		"AIza" + alnum36[:35]:                                 "[REDACTED_SECRET]",
		"glpat-" + alnum20:                                    "[REDACTED_SECRET]",
		webJWT:                                                "[REDACTED_SECRET]",
		"<" + webJWT + ">":                                    "<[REDACTED_SECRET]>",
		"eyJust a.word":                                       "eyJust a.word",
		pemKey:                                                "[REDACTED_SECRET]",
		"x\n" + pemKey + "\ny":                                "x\n[REDACTED_SECRET]\ny",
		strings.ReplaceAll(pemKey, "\n", `\n`):                "[REDACTED_SECRET]",
		pemKey[:90]:                                           "[REDACTED_SECRET]",
		"-----BEGIN PRIVATE KEY----- begins a key, and so on": "-----BEGIN PRIVATE KEY----- begins a key, and so on",
		"-----BEGIN CERTIFICATE-----\nMIIB\n":                 "-----BEGIN CERTIFICATE-----\nMIIB\n",
		// After escapes that end in a letter.
		`a\nsk-` + alnum20:             `a\n[REDACTED_API_KEY]`,
		`\u001b[31mghp_` + alnum36:     `\u001b[31m[REDACTED_GITHUB_TOKEN]`,
		"\x1b[1;31msk-" + alnum20:      "\x1b[1;31m[REDACTED_API_KEY]",
		"k%3DAKIAIOSFODNN7EXAMPLE":     "k%3D[REDACTED_SECRET]",
		`\npassword=hunter2`:           `\npassword=[REDACTED]`,
		"\x1b[33mtoken: abc\x1b[0m ok": "\x1b[33mtoken: [REDACTED] ok",
		// Schemes.
		"Bearer abcdefghijkl":                        "Bearer [REDACTED_BEARER]",
		"Bearer abcdefghijk":                         "Bearer abcdefghijk",
		"authorization: BEARER  abc.def-ghi_jkl.":    "authorization: BEARER  [REDACTED_BEARER].",
		"Bearer abc+def/ghijklmnop==":                "Bearer [REDACTED_BEARER]",
		"Bearer " + webJWT:                           "Bearer [REDACTED_BEARER]",
		"Authorization: Basic dXNlcjpwYXNzd29yZA==":  "Authorization: Basic [REDACTED_SECRET]",
		"basic dXNlcjpwYXNz":                         "basic [REDACTED_SECRET]",
		"Basic functionality, basic configuration":   "Basic functionality, basic configuration",
		"postgres://bob:hunter2@db:5432/x":           "postgres://bob:[REDACTED_SECRET]@db:5432/x",
		"redis://:hunter2@db":                        "redis://:[REDACTED_SECRET]@db",
		"amqp://u:p/w?d@host":                        "amqp://u:[REDACTED_SECRET]@host",
		`https:\/\/bob:hunter2@x`:                    `https:\/\/bob:[REDACTED_SECRET]@x`,
		"http://localhost:8080/a@b http://x/y:z@q":   "http://localhost:8080/a@b http://x/y:z@q",
		"ssh://git@host:22/x and mailto:a@b http://": "ssh://git@host:22/x and mailto:a@b http://",
		// Names.
		"api_key=abc":                         "api_key=[REDACTED]",
		"API-KEY : abc def":                   "API-KEY : [REDACTED] def",
		"apikey: 'abc'":                       "apikey: '[REDACTED]'",
		`token="abc"`:                         `token="[REDACTED]"`,
		`token="two words" x`:                 `token="[REDACTED]" x`,
		"Secret=abc":                          "Secret=[REDACTED]",
		"password:\n  hunter2\nnext: 1":       "password:\n  [REDACTED]\nnext: 1",
		"password: 12345":                     "password: [REDACTED]",
		"token: sk-" + alnum20:                "token: [REDACTED]",
		"MY_API_KEY=abc":                      "MY_API_KEY=[REDACTED]",
		"export AWS_SECRET_ACCESS_KEY=ab":     "export AWS_SECRET_ACCESS_KEY=[REDACTED]",
		"token_secret: abc":                   "token_secret: [REDACTED]",
		"X-Api-Key: abc":                      "X-Api-Key: [REDACTED]",
		"clientSecret: abc":                   "clientSecret: [REDACTED]",
		"--password=abc x":                    "--password=[REDACTED] x",
		`{"api_key": "abc", "n": 1}`:          `{"api_key": "[REDACTED]", "n": 1}`,
		`{\"api_key\":\"abc\",\"n\":1}`:       `{\"api_key\":\"[REDACTED]\",\"n\":1}`,
		`{\\\"token\\\":\\\"a b\\\"}`:         `{\\\"token\\\":\\\"[REDACTED]\\\"}`,
		`{"token":"a\"b","x":"y"}`:            `{"token":"[REDACTED]","x":"y"}`,
		`{\"token\":\"a\\\"b\",\"x\":1}`:      `{\"token\":\"[REDACTED]\",\"x\":1}`,
		`"cmd":"token=abc","x":"y"`:           `"cmd":"token=[REDACTED]","x":"y"`,
		`{\"cmd\":\"token=abc\"}`:             `{\"cmd\":\"token=[REDACTED]\"}`,
		"token=\"cut off\nnext":               "token=\"[REDACTED]\nnext",
		`token := f"abc"`:                     `token := f"[REDACTED]"`,
		`password = """a b"""`:                `password = """[REDACTED]"""`,
		"token: \"\"":                         "token: \"\"",
		"- **Password:** hunter2 x":           "- **Password:** [REDACTED] x",
		"password: ``hunter2`` `two words`,x": "password: [REDACTED] `two words`,x",
		"`password`: `two words` x":           "`password`: [REDACTED] x",
		"secret: |\n  one\n  two\nx: 1":       "secret: |\n  [REDACTED]\nx: 1",
		`"api_key": ["a", "b c"], "x": ["d"]`: `"api_key": ["[REDACTED]", "[REDACTED]"], "x": ["d"]`,
		`\"token\":[\"a\"],\"x\":[\"d\"]`:     `\"token\":[\"[REDACTED]\"],\"x\":[\"d\"]`,
		// Numbers and other words.
		"tokens: 512, total_tokens: 5":                 "tokens: 512, total_tokens: 5",
		"max_token: 4096; password_length=12":          "max_token: 4096; password_length=12",
		`"token": 5, "secret": null, "password":true}`: `"token": 5, "secret": null, "password":true}`,
		"tokenizer: bpe, secretary: Ann":               "tokenizer: bpe, secretary: Ann",
		"project_secretary_agent_id: agent_1":          "project_secretary_agent_id: agent_1",
		"key: value; monkey=banana; author: me":        "key: value; monkey=banana; author: me",
		"":                                             "",
	} {
		r := NewRedactor(nil)
		got := r.Text(in)
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("%q again: %q", got, again)
		}
	}
}

// TestNamesOfSecrets checks the secret names with every separator and every quoting. Names,
// separators and quotes stay.
func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	r := NewRedactor(nil)
	for _, name := range []string{"api_key", "api-key", "apikey", "API_KEY", "token", "Token", "secret", "password", "client_secret", "AWS_SECRET_ACCESS_KEY", "access_token"} {
		for _, sign := range []string{"=", ":", ": ", " = ", "\t:\t"} {
			for _, quoted := range []string{"@", `"@"`, "'@'", `\"@\"`} {
				for _, value := range []string{"va1ue", "two words"} {
					if quoted == "@" && value != "va1ue" {
						continue // an unquoted value ends at a blank
					}
					for _, quote := range []string{"", `"`, `\"`} {
						around := func(value string) string {
							return "see " + quote + name + quote + sign + strings.Replace(quoted, "@", value, 1) + " and\n"
						}
						if got, want := r.Text(around(value)), around(Mask); got != want {
							t.Errorf("%q\n got %q\nwant %q", around(value), got, want)
						}
					}
				}
			}
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r := NewRedactor(FromEnviron([]string{"DEPLOY_TOKEN=hunter2-hunter2"}))
	for in, want := range map[string]string{
		` { "b" : [ 1.50 , true , null ] , "a" : "x" } `:            `{"b":[1.50,true,null],"a":"x"}`,
		`{"token":"x","n_token":5,"token_type":1e3}`:                `{"token":"[REDACTED]","n_token":5,"token_type":1e3}`,
		`{"api_key":["a",{"b":"c"}],"secret":""}`:                   `{"api_key":["[REDACTED]",{"b":"c"}],"secret":""}`,
		`["tool","--token","abc","--verbose","x"]`:                  `["tool","--token","[REDACTED]","--verbose","x"]`,
		`["--token","--x","y"]`:                                     `["--token","--x","y"]`,
		`[{"name":"API_KEY","value":"x"},{"name":"A","value":"x"}]`: `[{"name":"API_KEY","value":"[REDACTED]"},{"name":"A","value":"x"}]`,
		`"a hunter2-hunter2 b"`:                                     `"a [REDACTED] b"`,
		`{"hunter2-hunter2":"hunter2-hunter2"}`:                     `{"[REDACTED]":"[REDACTED]"}`,
		`"{\"password\":\"a\\\"b\"}\n\ud800 é"`:                     `"{\"password\":\"[REDACTED]\"}\n\ud800 é"`,
		`"{\"in\":\"{\\\"password\\\":\\\"abc\\\"}\"}"`:             `"{\"in\":\"{\\\"password\\\":\\\"[REDACTED]\\\"}\"}"`,
	} {
		got, err := r.JSON(nil, []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s (%v)\nwant %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "{", "{} x", "plain", `{"a":1}{"b":2}`} {
		if got, err := r.JSON(nil, []byte(in)); err == nil || len(got) > 0 {
			t.Errorf("%q was taken for JSON: %q", in, got)
		}
	}
}

// shapes returns secrets of every kind. @@ stands for what must be masked.
func shapes() []string {
	return []string{
		"sk-@@", "sk-ant-api03-@@", "sk-proj-@@", "ghp_@@", "gho_@@", "ghs_@@", "github_pat_@@", "xoxb-@@", "xoxp-12-@@", "xapp-1-@@",
		"glpat-@@", "Bearer @@", "bearer  @@", "https://bob:@@@example.org/x", "password=@@", "api_key: @@", `token = "@@"`, "secret: '@@'",
		"OPENAI_API_KEY=@@", "AWS_SECRET_ACCESS_KEY=@@", `"client_secret":"@@"`, `\"access_token\":\"@@\"`, `\\\"api_key\\\": \\\"@@\\\"`, "--api-key=@@",
		"-----BEGIN PRIVATE KEY-----\n@@\n-----END PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.eyJz@@.s@@", "password:\n  @@", "token: |\n        @@\n        @@", "**Token:** @@",
	}
}

// TestPlanted hides secrets of all shapes in many contexts.
func TestPlanted(t *testing.T) {
	t.Parallel()
	r := NewRedactor(nil)
	around := rapid.SampledFrom([]string{" ", "\n", "\n\n", ", ", "; ", `\n`, `\t`, "\x1b[31m", "\x1b[0m", " é", "(", ") ", "> ", "| ", "```\n", "text ", "tokens: 5 ", "http://x:80/ ", "{\"a\":1}\n", "%0A", "[", "] ", "key=", "\""})
	body := rapid.StringMatching(`[A-Za-z0-9]{36}`)
	rapid.Check(t, func(t *rapid.T) {
		secret := body.Draw(t, "secret")
		shape := rapid.SampledFrom(shapes()).Draw(t, "shape")
		before := strings.Join(rapid.SliceOfN(around, 0, 5).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(around, 0, 5).Draw(t, "after"), "")
		if after != "" && !strings.ContainsAny(after[:1], " \n\x1b") {
			after = " " + after
		}
		text := before + strings.ReplaceAll(shape, "@@", secret) + after
		got := r.Text(text)
		if strings.Contains(got, secret) {
			t.Fatalf("%q\nbecame %q", text, got)
		}
		if again := r.Text(got); again != got {
			t.Fatalf("%q\nbecame %q\n  then %q", text, got, again)
		}
		line, err := json.Marshal(map[string]any{"a": []any{text, map[string]string{"b": text}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // JSON in JSON in JSON
			out, err := r.JSON(nil, line)
			if err != nil || bytes.Contains(out, []byte(secret)) || !json.Valid(out) {
				t.Fatalf("%s\nbecame %s (%v)", line, out, err)
			}
			if line, err = json.Marshal(map[string]string{"chunk": string(line)}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOrdinary checks that text without secrets is unchanged.
func TestOrdinary(t *testing.T) {
	t.Parallel()
	r := NewRedactor(nil)
	words := rapid.SampledFrom([]string{
		"the", "tokens", "task-list", "risk-free", "Basic", "basic", "a bearer of news", "key:", "author:", "12:30", "https://example.org:8080/a?b=c#d", "total_tokens: 51", "\n", "\n\n", "- ", "# ", "`code`",
		"{\"input_tokens\":5}", "run_01M7WQGTR95SV6EDMA61E1XR8M", "f112fbbf5bd88daca0304ad87a591461148ff08bc2a153a96c9e8799b8a60e88", "a@b.org", "x = y", "日本", "\x1b[1m", `\n`, `"quoted"`, "it's", "tokenizer=bpe", "secrets", "password", "-----", "eyJ", "sk-", "0.5",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(words).Draw(t, "words"), " ")
		if got := r.Text(text); got != text {
			t.Fatalf("%q\nbecame %q", text, got)
		}
	})
}

// TestWorkIsLinear runs each pattern on a text that would take hours with backtracking.
func TestWorkIsLinear(t *testing.T) {
	t.Parallel()
	r := NewRedactor(FromEnviron([]string{"A_TOKEN=zzzz", "B_TOKEN=token=", "C_TOKEN=nowhere"}))
	done := make(chan struct{})
	go func() { // ends after the last text
		defer close(done)
		for _, piece := range []string{
			"sk-", "ghp_", "eyJaaaaaaaa.", "eyJ", "Bearer ", "bearer a", "Basic ", "basic YTpi", "://", "a://b:", "a://b:c/", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "token=", "token:", "token=\"", "token=\\\"", "token : |\n  ", "token=`",
			":", "= ", "\"token\": [", "password=\"\"\"", " ", "\n", "\\", "token", "a", "token=f", "**Token:** ",
		} {
			text := strings.Repeat(piece, (1<<20)/len(piece))
			if once := r.Text(text); len(once) > 40*len(text) {
				t.Errorf("%q grew to %d bytes", piece, len(once))
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Error("the work is not linear")
		<-done
	}
}

func FuzzText(f *testing.F) {
	for _, shape := range shapes() {
		f.Add(shape)
	}
	f.Add("password:\n ``@")
	f.Add("--api-key==@")
	f.Add("--api-key=\\nx --api-key `:@ x_cookie=>@")
	f.Add("token=\\\"a\\\\\\\"b\" Bearer x -----BEGIN PRIVATE KEY-----\\n")
	r := NewRedactor(nil)
	f.Fuzz(func(t *testing.T, text string) {
		once := r.Text(text)
		if twice := r.Text(once); twice != once {
			t.Fatalf("%q\nbecame %q\n  then %q", text, once, twice)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":["--token","x",{"name":"API_KEY","value":"y"}],"b":"{\"password\":\"z\"}","\ud800":1e400}`))
	r := NewRedactor(nil)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := r.JSON(nil, text)
		if valid := json.Valid(text); valid != (err == nil) && len(text) < 10_000 {
			t.Fatalf("valid %v, but %v", valid, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("%q is no JSON", once)
		}
		twice, err := r.JSON(nil, once)
		if diff := cmp.Diff(string(once), string(twice)); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat(`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"The tests pass: 12 of 12. See https://example.org/x."},"usage":{"input_tokens":512}}`+"\n", 400)
	r := NewRedactor(nil)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}
