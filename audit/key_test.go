package audit

// The private key file.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	env := workspace.SystemEnv()
	file := filepath.Join(t.TempDir(), "a", "b", "audit.key")
	var wg sync.WaitGroup
	public := make([]string, 8)
	for i := range public {
		wg.Go(func() {
			key, err := LoadKey(env, file)
			if err != nil {
				t.Error(err)
			}
			public[i] = key.Public
		})
	}
	wg.Wait()
	for _, p := range public {
		if p != public[0] || p == "" {
			t.Errorf("keys: %v", public)
		}
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", st.Mode(), err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(env, file); !fault.Is(err, fault.Denied) {
		t.Errorf("a key that all can read: %v", err)
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("no key\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(env, file); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("no key: %v", err)
	}
	c := newCompany(t)
	if _, err := Verify(context.Background(), c.w, Options{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing was sealed: %v", err)
	}
	if _, err := Verify(context.Background(), c.w, Options{Key: "no key"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key that is none: %v", err)
	}
}
