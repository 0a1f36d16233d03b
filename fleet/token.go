package fleet

// Invitations: tokens that a person copies to a new worker.

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"ac/internal/fault"
)

// tokenPrefix starts every token.
const tokenPrefix = "acw1_"

// Token is an invitation. Its seed permits only to join once, before it expires.
type Token struct {
	Hub         string   `json:"h"`
	Worker      string   `json:"w"`
	URLs        []string `json:"u"`
	Fingerprint string   `json:"f,omitempty"` // hex SHA-256 of the hub's certificate; "" if a known authority issued it
	HubKey      string   `json:"k"`
	Seed        string   `json:"s"`
	Expires     int64    `json:"x"` // Unix seconds
}

// String returns the token as text, which is secret.
func (t Token) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // unreachable: strings and a number always encode
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text)
}

// ExpiresAt returns when the token expires.
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
