package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"watched": false, "not there yet": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "f")
			if !missing {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			looked := make(chan struct{}, 1)
			made := make(chan error, 1)
			go func() {
				<-looked
				made <- errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600), os.WriteFile(filepath.Join(dir, "marker"), nil, 0o600))
			}()
			f := Folder{Dir: dir, Name: "marker", Often: time.Millisecond, Seldom: time.Hour}
			if !f.Until(t.Context(), func() bool {
				_, err := os.Lstat(filepath.Join(dir, "marker"))
				select {
				case looked <- struct{}{}:
				default:
				}
				return err == nil
			}) {
				t.Error("it ended without the marker")
			}
			if err := <-made; err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if (Folder{Dir: t.TempDir(), Often: time.Hour, Seldom: time.Hour}).Until(ctx, func() bool { return false }) {
		t.Error("it went on after the end of its context")
	}
}
