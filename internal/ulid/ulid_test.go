package ulid

import (
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var form = regexp.MustCompile(`^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// TestIDsRise creates ids while the clock stands still, jumps and goes back.
func TestIDsRise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_795_186_780_974)
		seed := [32]byte{rapid.Byte().Draw(t, "seed")}
		source := NewSourceFrom(func() time.Time { return now }, rand.NewChaCha8(seed))
		last := ""
		for range rapid.IntRange(1, 60).Draw(t, "ids") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5, -1, -3_600_000}).Draw(t, "step")) * time.Millisecond)
			id := source.New("evt")
			if !form.MatchString(id) {
				t.Fatalf("form of %s", id)
			}
			if id <= last {
				t.Fatalf("%s after %s", id, last)
			}
			last = id
		}
	})
}

func TestIDsAreUniqueAcrossGoroutines(t *testing.T) {
	t.Parallel()
	source := NewSource(time.Now)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			last := ""
			for range 500 {
				id := source.New("run")
				if id <= last {
					t.Errorf("%s after %s", id, last)
				}
				last = id
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 4000 {
		t.Errorf("%d different ids of 4000", len(seen))
	}
}

func TestHex(t *testing.T) {
	t.Parallel()
	source := NewSource(time.Now)
	if a, b := source.Hex(8), source.Hex(8); len(a) != 16 || a == b {
		t.Errorf("%s, %s", a, b)
	}
}

// TestUUID checks the conversion of an id to a UUID and back.
func TestUUID(t *testing.T) {
	t.Parallel()
	const id, uuid = "run_01M7WQGTR95SV6EDMA61E1XR8M", "01a1f978-6b09-2e76-6736-8a305c1ee114"
	if got, ok := UUID(id); !ok || got != uuid {
		t.Errorf("%s is %q (%t)", id, got, ok)
	}
	if got, ok := OfUUID("run", uuid); !ok || got != id {
		t.Errorf("%s is %q (%t)", uuid, got, ok)
	}
	for _, text := range []string{"", "run_", "run_x", "nightly", "run_01m7wqgtr95sv6edma61e1xr8m", "run_ZZZZZZZZZZZZZZZZZZZZZZZZZZ"} {
		if got, ok := UUID(text); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
	for _, text := range []string{"", "x", "01A1F978-6b09-2e76-6736-8a305c1ee114", "01a1f9786b092e7667368a305c1ee114", uuid + "00"} {
		if got, ok := OfUUID("run", text); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}
