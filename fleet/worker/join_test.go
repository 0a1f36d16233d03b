package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"

	"ac/fleet"
	"ac/workspace"
)

// TestARefusedInvitationIsTriedAgain checks that Join retries a refusal, since a server may turn
// somebody away while others join. Join gives up on a spent invitation after a few tries.
func TestARefusedInvitationIsTriedAgain(t *testing.T) {
	t.Parallel()
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	errOther := errors.New("it went on")
	for name, of := range map[string]struct {
		refusals, tries int
		want            error
	}{
		"once": {1, 2, errOther}, "three times": {3, 4, errOther}, "for good": {100, 4, fleet.ErrKeyRefused},
	} {
		tries := 0
		_, err = Join(t.Context(), workspace.SystemEnv(), JoinOptions{
			Token: fleet.Token{Seed: key.Seed()}, Dir: filepath.Join(t.TempDir(), "w"),
			Connect: func(context.Context, fleet.WorkerLink) (fleet.WorkerCarrier, error) {
				if tries++; tries <= of.refusals {
					return nil, fleet.ErrKeyRefused
				}
				return nil, errOther
			},
		})
		if !errors.Is(err, of.want) || tries != of.tries {
			t.Errorf("%s: %d tries, %v", name, tries, err)
		}
	}
}
