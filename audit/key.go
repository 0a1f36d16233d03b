package audit

// Keys: a private one for sealing, a public one for verifying.

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// keyName is the name under which ac signs.
const keyName = "ac-audit"

// Key is a private key for sealing, with its public key.
type Key struct {
	signer note.Signer
	Public string
}

// DefaultKeyFile returns the file of this user's private key. It is outside of every workspace,
// so that neither exports nor agents can include it.
func DefaultKeyFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fault.New(fault.NotFound, "no directory for the private key: %w (name a file with --key-file)", err)
	}
	return filepath.Join(dir, "ac", "audit.key"), nil
}

// LoadKey reads a private key. If the file is missing, LoadKey creates it with mode 0600. The
// second line of the file is the public key. LoadKey refuses a file that other users may access.
func LoadKey(env workspace.Env, file string) (Key, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(env, file); err != nil {
			return Key{}, fmt.Errorf("create the key %s: %w", file, err)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return Key{}, err
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm()&0o077 != 0 {
		return Key{}, errors.Join(err, fault.New(fault.Denied, "%s is readable by other users; only its owner may read a private key (chmod 600)", file))
	}
	private, public, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	signer, err := note.NewSigner(strings.TrimSpace(private))
	if err != nil {
		return Key{}, fault.New(fault.InvalidFile, "%s does not contain a private key: %w", file, err)
	}
	if _, err := note.NewVerifier(strings.TrimSpace(public)); err != nil {
		return Key{}, fault.New(fault.InvalidFile, "%s does not contain a public key on its second line: %w", file, err)
	}
	return Key{signer: signer, Public: strings.TrimSpace(public)}, nil
}

// makeKey creates a key file. If several processes race, the first file wins.
func makeKey(env workspace.Env, file string) error {
	private, public, err := note.GenerateKey(rand.Reader, keyName)
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := durable.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	temp := "." + filepath.Base(file) + ".tmp-" + env.IDs.Hex(6)
	if err := durable.WriteNew(root, temp, []byte(private+"\n"+public+"\n"), 0o600); err != nil {
		return err
	}
	err = root.Link(temp, filepath.Base(file))
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, root.Remove(temp), root.SyncDir("."))
}

// verifierOf parses a public key, or reads it from a file.
func verifierOf(key string) (note.Verifier, error) {
	if v, err := note.NewVerifier(strings.TrimSpace(key)); err == nil {
		return v, nil
	}
	text, err := os.ReadFile(key)
	if err != nil {
		return nil, fault.New(fault.NotFound, "%s is neither a public key nor a readable file", key)
	}
	return parseKey(key, text)
}

func parseKey(name string, text []byte) (note.Verifier, error) {
	v, err := note.NewVerifier(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s does not contain a public key: %w", name, err)
	}
	return v, nil
}
