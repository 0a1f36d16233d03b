package provider

// The subscription guard decides whether a worker may be used, and by which proof. It decides
// before anything executes the worker's program as a worker.

import (
	"context"
	"fmt"
	"strings"

	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

// Reasons for a refusal.
const (
	UnapprovedBinary = "unapproved_worker_binary"
	ProbeFailed      = "auth_probe_failed"
	APIKeyPresent    = "api_key_present"
	UnknownStrategy  = "unknown_proof_strategy"
)

// Policy is the execution policy of a provider. ProviderKey is the key under which it was found.
type Policy struct {
	ProviderKey              string   `json:"provider_key"`
	Channel                  string   `json:"channel"`
	RequireSubscriptionProof bool     `json:"require_subscription_proof"`
	ProofStrategy            string   `json:"proof_strategy,omitempty"`
	AllowedBinPatterns       []string `json:"allowed_bin_patterns"`
}

// Proof is the evidence on which the guard accepted a worker.
type Proof struct {
	Strategy string `json:"strategy"`
	Detail   string `json:"detail"`
}

// Verdict is the guard's decision. Reason is "" if the guard accepted the worker.
type Verdict struct {
	Policy  Policy
	Bin     string
	Proof   Proof
	Reason  string
	Message string
}

// aliases returns the names under which to look up a provider's policy, in order.
func aliases(provider string) []string {
	if as := doc.ProviderNamed(provider).PolicyFrom; as != "" {
		return []string{provider, as}
	}
	return []string{provider}
}

// PolicyOf returns the policy of a provider: the machine's, else the default.
func PolicyOf(machine doc.Machine, provider string) Policy {
	for _, key := range aliases(provider) {
		if p, ok := machine.ExecutionPolicy[key]; ok {
			return Policy{key, p.Channel, p.RequireSubscriptionProof, p.ProofStrategy, orEmpty(p.AllowedBinPatterns)}
		}
		if p, ok := defaultPolicy(key); ok {
			return p
		}
	}
	p := Policy{ProviderKey: provider, Channel: "api", AllowedBinPatterns: []string{}}
	if isGemini(provider) {
		p.AllowedBinPatterns = []string{"gemini"}
	}
	return p
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func defaultPolicy(key string) (Policy, bool) {
	p := doc.ProviderNamed(key).Policy
	if p == nil {
		return Policy{}, false
	}
	return Policy{key, p.Channel, p.RequireSubscriptionProof, p.ProofStrategy, p.AllowedBinPatterns}, true
}

func isGemini(provider string) bool {
	return DriverOf(provider) == Gemini || strings.HasPrefix(provider, "gemini-")
}

// Guard decides whether a worker may be used. environ is the environment of the attempt.
// template is the agent's own command line, empty if it has none. The name of its program must
// be approved as well.
func Guard(ctx context.Context, machine doc.Machine, provider string, template, environ []string) Verdict {
	policy := PolicyOf(machine, provider)
	v := Verdict{Policy: policy, Bin: Binary(machine, provider)}
	if len(template) > 0 {
		v.Bin = template[0]
	}
	program, err := Find(v.Bin, value(environ, "PATH"))
	if program.Path != "" {
		v.Bin = program.Path
	}
	if approval := program.Approve(policy.AllowedBinPatterns); approval != nil {
		return v.refuse(UnapprovedBinary, approval.Error())
	}
	if policy.Channel == "api" {
		return v.api(provider, environ)
	}
	if !policy.RequireSubscriptionProof {
		v.Proof = Proof{Strategy: orNone(policy.ProofStrategy), Detail: "no proof required"}
		return v
	}
	return v.prove(ctx, program, err, environ)
}

func (v Verdict) refuse(reason, message string) Verdict {
	v.Reason, v.Message, v.Proof = reason, message, Proof{}
	return v
}

func orNone(strategy string) string {
	if strategy == "" {
		return "none"
	}
	return strategy
}

func (v Verdict) api(provider string, environ []string) Verdict {
	v.Proof = Proof{Strategy: "api_channel", Detail: "reached through an API"}
	if !isGemini(provider) {
		return v
	}
	vertex := isTrue(value(environ, "GOOGLE_GENAI_USE_VERTEXAI")) && isSet(environ, "GOOGLE_CLOUD_PROJECT") && isSet(environ, "GOOGLE_CLOUD_LOCATION")
	if !isSet(environ, "GEMINI_API_KEY") && !isSet(environ, "GOOGLE_API_KEY") && !vertex {
		return v.refuse(ProbeFailed, "no API credentials: set GEMINI_API_KEY or GOOGLE_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI with GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION")
	}
	return v
}

// prove checks that the worker uses a subscription and not an API key. A missing program proves
// nothing.
func (v Verdict) prove(ctx context.Context, program Program, missing error, environ []string) Verdict {
	var keys []string
	switch v.Policy.ProofStrategy {
	case "codex_cli":
		keys = []string{"OPENAI_API_KEY", "CODEX_API_KEY"}
	case "claude_cli":
		keys = []string{"ANTHROPIC_API_KEY"}
	case "gemini_cli":
		keys = []string{"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"}
	default:
		return v.refuse(UnknownStrategy, fmt.Sprintf("unknown proof strategy %q", v.Policy.ProofStrategy))
	}
	for _, key := range keys {
		if isSet(environ, key) {
			return v.refuse(APIKeyPresent, key+" is set, but a subscription is required")
		}
	}
	if missing != nil {
		return v.refuse(ProbeFailed, missing.Error())
	}
	v.Proof = Proof{Strategy: v.Policy.ProofStrategy, Detail: "no API key is set"}
	if v.Policy.ProofStrategy != "codex_cli" {
		return v
	}
	said := ask(ctx, environ, probeLimit, program.Path, "login", "status")
	text := strings.ToLower(said.stdout + said.stderr)
	switch {
	case !said.ok:
		return v.refuse(ProbeFailed, program.Path+" login status did not succeed")
	case apiKeyWords().MatchString(text):
		return v.refuse(ProbeFailed, "logged in with an API key")
	case !strings.Contains(text, "chatgpt") && !strings.Contains(strings.ReplaceAll(text, "not logged in", ""), "logged in"):
		return v.refuse(ProbeFailed, "the login status does not show a subscription")
	}
	v.Proof.Detail = "logged in with a subscription"
	return v
}

var apiKeyWords = lazyregexp.New(`api ?key`)

// value returns the last value of a variable in environ, which is the one that a child process
// sees.
func value(environ []string, name string) (text string) {
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			text = v
		}
	}
	return text
}

func isSet(environ []string, name string) bool { return strings.TrimSpace(value(environ, name)) != "" }

func isTrue(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
