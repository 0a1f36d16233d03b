package clock_test

import (
	"encoding/json"
	"testing"
	"time"

	"ac/internal/clock"
)

// TestShifted checks that only timestamps in the named members are shifted.
func TestShifted(t *testing.T) {
	t.Parallel()
	const hour = int64(time.Hour / time.Millisecond)
	for given, want := range map[string]string{
		`{"requested_at":"2026-01-02T03:04:05.678Z","expires_at":null,"b":"2026-01-02T03:04:05.678Z","n":1.50}`: `{"b":"2026-01-02T03:04:05.678Z","expires_at":null,"n":1.50,"requested_at":"2026-01-02T04:04:05.678Z"}`,
		`{"requested_at":"soon","expires_at":7}`: `{"requested_at":"soon","expires_at":7}`,
		`["requested_at"]`:                       `["requested_at"]`,
		`nonsense`:                               `nonsense`,
	} {
		if got := string(clock.ShiftTimes(json.RawMessage(given), hour, "requested_at", "expires_at")); got != want {
			t.Errorf("%s became %s", given, got)
		}
	}
	if got := string(clock.ShiftTimes(json.RawMessage(`{"requested_at":"2026-01-02T03:04:05.678Z"}`), hour)); got != `{"requested_at":"2026-01-02T03:04:05.678Z"}` {
		t.Errorf("without names: %s", got)
	}
}
