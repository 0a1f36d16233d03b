package lock

// Locking a directory. Windows only locks files, so a file stands in for the directory.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"ac/internal/durable"
)

// Dir takes an exclusive lock for a directory. It waits until the context ends. The lock is on
// a file in the directory for temporary files, named by a hash of dir.
func Dir(ctx context.Context, dir string) (*Directory, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	temp, err := durable.OpenRoot(os.TempDir())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.ToLower(dir)))
	held, err := Wait(ctx, temp, "ac-dir-"+hex.EncodeToString(sum[:8])+".lock")
	if err != nil {
		return nil, errors.Join(err, temp.Close())
	}
	return &Directory{Identity: durable.IdentityOf(st), release: func() error { return errors.Join(held.Release(), temp.Close()) }}, nil
}
