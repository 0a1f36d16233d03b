package modelprofile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/runs/modelprofile"
	"ac/workspace/doc"
)

func change(t *testing.T, text string) (c modelprofile.Change) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fault.Reason{
		`{"model":"m"}`:                                                        fault.InvalidParams,
		`{"provider":"p"}`:                                                     fault.InvalidParams,
		`{"provider":"p","model":"-m"}`:                                        fault.InvalidParams,
		`{"provider":"p","model":"m","api_key":"a\nb"}`:                        fault.InvalidParams,
		`{"provider":"p","model":"m","base_url":"ftp://h"}`:                    fault.InvalidURL,
		`{"provider":"p","model":"m","base_url":"https://u:secretpassword@h"}`: fault.InvalidURL,
		`{"provider":"p","model":"m","request_headers":{"Content-Type":"x"}}`:  fault.InvalidHeader,
		`{"provider":"p","model":"m","request_headers":{"X Y":"x"}}`:           fault.InvalidHeader,
		`{"provider":"p","model":"m","request_headers":{"X":"a\r\nY: b"}}`:     fault.InvalidHeader,
		`{"provider":"p","model":"m","request_headers":{"X-Key":"***"}}`:       fault.InvalidHeader,
	} {
		if _, err := change(t, text).Apply(nil, doc.ProfileSecrets{}); !fault.Is(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, name := range []string{"", " ", "a/b", "a\nb", strings.Repeat("x", 65)} {
		if modelprofile.CheckName(name) == "" {
			t.Errorf("%q is a name", name)
		}
	}
}

// TestNothingIsShown checks that keys and headers with secret names are never shown, other
// headers are, and fields left out of a change stay.
func TestNothingIsShown(t *testing.T) {
	t.Parallel()
	var machine doc.Machine
	var secrets doc.Secrets
	p, err := change(t, `{"provider":"openai","model":"m","base_url":"https://h/v1","api_key":"key-never-shown",
		"request_headers":{"X-Api-Token":"token-never-shown","X-Team":"blue","X-Key":"{env:KEY}"}}`).Apply(nil, doc.ProfileSecrets{})
	if err != nil {
		t.Fatal(err)
	}
	modelprofile.Put(&machine, &secrets, "fast", p)
	text, err := json.Marshal([]any{modelprofile.ProfileOf("fast", machine.ModelProfiles["fast"]), machine})
	if err != nil || strings.Contains(string(text), "never-shown") || !strings.Contains(string(text), `"X-Team":"blue"`) || !strings.Contains(string(text), `"{env:KEY}"`) {
		t.Errorf("%s %v", text, err)
	}
	old := machine.ModelProfiles["fast"]
	next, err := change(t, `{"model":"n","request_headers":{"X-Api-Token":"***"}}`).Apply(&old, secrets.ModelProfiles["fast"])
	if err != nil || next.APIKey != "key-never-shown" || next.Model != "n" || next.BaseURL != "https://h/v1" || !cmp.Equal(next.RequestHeaders, map[string]string{"X-Api-Token": "token-never-shown"}) {
		t.Errorf("%+v %v", next, err)
	}
	if next, err = change(t, `{"api_key":"","request_headers":{}}`).Apply(&old, secrets.ModelProfiles["fast"]); err != nil || next.APIKey != "" || next.RequestHeaders != nil {
		t.Errorf("%+v %v", next, err)
	}
	modelprofile.Put(&machine, &secrets, "fast", next)
	if shown := modelprofile.ProfileOf("fast", machine.ModelProfiles["fast"]); shown.HasAPIKey || shown.KeySource != modelprofile.KeyNone || len(secrets.ModelProfiles) != 0 {
		t.Errorf("%+v %+v", shown, secrets)
	}
	if shown := modelprofile.ProfileOf("x", doc.ModelProfile{APIKey: "{env:K}"}); shown.KeySource != modelprofile.KeyEnv || !shown.HasAPIKey {
		t.Errorf("%+v", shown)
	}
}

// TestKeysStayAtTheirProvider checks that a key without a base URL is never offered to another
// provider's agents.
func TestKeysStayAtTheirProvider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    doc.ModelProfile
		want []string
	}{
		{doc.ModelProfile{Provider: "openai", Model: "m"}, []string{"acp", "claude", "codex", "command", "gemini"}},
		{doc.ModelProfile{Provider: "OpenAI", Model: "m", APIKey: "k"}, []string{"acp", "codex", "command"}},
		{doc.ModelProfile{Provider: "anthropic", Model: "m", APIKey: "k"}, []string{"acp", "claude", "command"}},
		{doc.ModelProfile{Provider: "own", Model: "m", APIKey: "k", BaseURL: "http://h"}, []string{"acp", "claude", "codex", "command", "gemini"}},
		{doc.ModelProfile{Provider: "gemini", Model: "m", RequestHeaders: map[string]string{"X": "a, b"}, BaseURL: "http://h"}, []string{"acp", "claude", "codex", "command", "gemini"}},
		{doc.ModelProfile{Provider: "gemini", Model: "m", RequestHeaders: map[string]string{"X": "a, Y: b"}, BaseURL: "http://h"}, []string{"acp", "claude", "codex", "command"}},
	} {
		if got := modelprofile.ProfileOf("p", c.p).Applies; !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.p, got, c.want)
		}
	}
}

func TestLending(t *testing.T) {
	t.Parallel()
	environ := map[string]string{"TEAM_TOKEN": "token-of-team"}
	p, err := modelprofile.Resolve(doc.ModelProfile{
		Provider: "own", Model: "m", BaseURL: "https://h/v1", APIKey: "key-of-own", RequestHeaders: map[string]string{"X-Token": "{env:TEAM_TOKEN}", "X-Mode": "fast"},
	}, func(name string) string { return environ[name] })
	if err != nil {
		t.Fatal(err)
	}
	headers := "X-Mode: fast\nX-Token: token-of-team"
	codex := []string{
		"-c", `model_provider="ac_profile"`, "-c", `model_providers.ac_profile.name="ac profile"`, "-c", `model_providers.ac_profile.base_url="https://h/v1"`,
		"-c", `model_providers.ac_profile.wire_api="responses"`, "-c", `model_providers.ac_profile.env_key="AC_MODEL_API_KEY"`,
		"-c", `model_providers.ac_profile.env_http_headers.X-Mode="AC_MODEL_HEADER_1"`, "-c", `model_providers.ac_profile.env_http_headers.X-Token="AC_MODEL_HEADER_2"`,
	}
	for kind, want := range map[string]modelprofile.AgentSettings{
		modelprofile.FamilyClaude:  {Environ: []string{"ANTHROPIC_BASE_URL=https://h/v1", "ANTHROPIC_CUSTOM_HEADERS=" + headers, "ANTHROPIC_AUTH_TOKEN=key-of-own"}},
		modelprofile.FamilyCodex:   {Environ: []string{"AC_MODEL_API_KEY=key-of-own", "AC_MODEL_HEADER_1=fast", "AC_MODEL_HEADER_2=token-of-team"}, Words: codex},
		modelprofile.FamilyGemini:  {Environ: []string{"GEMINI_MODEL=m", "GOOGLE_GEMINI_BASE_URL=https://h/v1", "GEMINI_API_KEY=key-of-own", "GEMINI_CLI_CUSTOM_HEADERS=X-Mode: fast,X-Token: token-of-team"}},
		modelprofile.FamilyACP:     {Environ: []string{"AC_MODEL=m", "AC_MODEL_BASE_URL=https://h/v1", "AC_MODEL_API_KEY=key-of-own", "AC_MODEL_HEADERS=" + headers}},
		modelprofile.FamilyCommand: {Environ: []string{"AC_MODEL=m", "AC_MODEL_BASE_URL=https://h/v1", "AC_MODEL_API_KEY=key-of-own", "AC_MODEL_HEADERS=" + headers}},
	} {
		got := modelprofile.For(kind, p)
		for _, secret := range []string{"key-of-own", "token-of-team"} {
			if !slices.Contains(got.Secrets, secret) || strings.Contains(strings.Join(got.Words, " "), secret) {
				t.Errorf("%s: %s is no secret, or stands in the command line", kind, secret)
			}
		}
		got.Secrets = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	own := doc.ModelProfile{Provider: "openai", Model: "m", APIKey: "k"}
	if got := modelprofile.For(modelprofile.FamilyCodex, own); got.Words != nil || !slices.Contains(got.Environ, "OPENAI_API_KEY=k") {
		t.Errorf("%+v", got)
	}
	if _, err := modelprofile.Resolve(doc.ModelProfile{APIKey: "{env:NONE}"}, func(string) string { return "" }); !fault.Is(err, fault.EnvMissing) || !strings.Contains(err.Error(), "NONE") {
		t.Error(err)
	}
	p.RequestHeaders = map[string]string{"authorization": "Basic abc"}
	if got := modelprofile.Authorize(p); len(got) != 1 || got.Get("Authorization") != "Basic abc" {
		t.Errorf("%v", got)
	}
}
