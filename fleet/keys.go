package fleet

// Keys and signatures. Keys are Ed25519 in the text form of NATS user keys, so that the same key
// also authenticates a connection.

import (
	"crypto/ed25519"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// SignatureHeader is the header with the signature of a message.
const SignatureHeader = "Ac-Sig"

// First bytes of the text forms.
const (
	prefixSeed = 18 << 3 // S
	prefixUser = 20 << 3 // U
)

// Key is a private key of a hub, a worker or an invitation. It is immutable and safe for
// concurrent use. Its text form is secret.
type Key struct{ private ed25519.PrivateKey }

// NewKey generates a key.
func NewKey(random io.Reader) (Key, error) {
	_, private, err := ed25519.GenerateKey(random)
	if err != nil {
		return Key{}, fmt.Errorf("draw a key: %w", err)
	}
	return Key{private}, nil
}

// ParseKey parses a key from its seed, the inverse of Seed.
func ParseKey(seed string) (Key, error) {
	raw, err := decodeKey(seed)
	if err != nil || len(raw) != 2+ed25519.SeedSize || raw[0]&0xf8 != prefixSeed || (raw[0]&7)<<5|(raw[1]&0xf8)>>3 != prefixUser {
		return Key{}, errors.New("the seed of the key is damaged") // do not quote the text: it is secret
	}
	return Key{ed25519.NewKeyFromSeed(raw[2:])}, nil
}

// Seed returns the key as text, which is secret.
func (k Key) Seed() string {
	raw := append([]byte{prefixSeed | prefixUser>>5, prefixUser & 31 << 3}, k.private.Seed()...)
	return encodeKey(raw)
}

// Public returns the public key as text.
func (k Key) Public() string {
	public, _ := k.private.Public().(ed25519.PublicKey)
	return encodeKey(append([]byte{prefixUser}, public...))
}

// Raw signs bytes without a subject.
func (k Key) Raw(text []byte) []byte { return ed25519.Sign(k.private, text) }

// Sign signs the subject and body of a message and returns the signature in base64url.
func (k Key) Sign(subject string, body []byte) string {
	return base64.RawURLEncoding.EncodeToString(k.Raw(signed(subject, body)))
}

// Verify reports whether a signature from Sign was made with the private key of public.
func Verify(public, subject string, body []byte, signature string) bool {
	sum, err := base64.RawURLEncoding.DecodeString(signature)
	return err == nil && VerifyRaw(public, signed(subject, body), sum)
}

// VerifyRaw is Verify for a signature from Raw.
func VerifyRaw(public string, text, signature []byte) bool {
	raw, err := decodeKey(public)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != prefixUser {
		return false
	}
	return ed25519.Verify(raw[1:], text, signature)
}

// IsPublicKey reports whether a text is a public key.
func IsPublicKey(text string) bool {
	raw, err := decodeKey(text)
	return err == nil && len(raw) == 1+ed25519.PublicKeySize && raw[0] == prefixUser
}

func signed(subject string, body []byte) []byte {
	text := make([]byte, 0, len(subject)+1+len(body))
	return append(append(append(text, subject...), '\n'), body...)
}

func encodeKey(raw []byte) string {
	raw = binary.LittleEndian.AppendUint16(raw, crc16(raw))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw)
}

func decodeKey(text string) ([]byte, error) {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil || len(raw) < 3 {
		return nil, errors.New("no key")
	}
	body := raw[:len(raw)-2]
	if crc16(body) != binary.LittleEndian.Uint16(raw[len(raw)-2:]) {
		return nil, errors.New("the checksum of the key does not fit")
	}
	return body, nil
}

// crc16 computes CRC-16/XMODEM.
func crc16(text []byte) (sum uint16) {
	for _, b := range text {
		sum ^= uint16(b) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
