package fleet

// Invitations: the token that a person carries to a new worker.

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"ac/internal/fault"
)

// tokenPrefix begins every token.
const tokenPrefix = "acw1_"

// Token is an invitation. Its seed permits one thing: to join once, before it expires.
type Token struct {
	Hub         string   `json:"h"`
	Worker      string   `json:"w"`
	URLs        []string `json:"u"`
	Fingerprint string   `json:"f,omitempty"` // SHA-256 of the hub's certificate in hexadecimal, "" for one of a known authority
	HubKey      string   `json:"k"`
	Seed        string   `json:"s"`
	Expires     int64    `json:"x"` // Unix seconds
}

// String is the token as text: a secret.
func (t Token) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // texts and a number always encode
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// ExpiresAt is when the token expires.
func (t Token) ExpiresAt() time.Time { return time.Unix(t.Expires, 0) }

// ParseToken parses a token. It ignores the expiry, which the hub checks by its own clock.
func ParseToken(text string) (t Token, err error) {
	refused := fault.New(fault.InvalidParams, "the token is damaged: it begins with %s and is copied whole", tokenPrefix)
	body, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	if !ok {
		return t, refused
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(raw, &t) != nil {
		return Token{}, refused
	}
	if _, err := ParseKey(t.Seed); err != nil || !IsHub(t.Hub) || !IsWorker(t.Worker) || len(t.URLs) == 0 || !IsPublicKey(t.HubKey) {
		return Token{}, refused
	}
	return t, nil
}
