package carrier

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestARefusedWorkerTriesEverMoreSeldom(t *testing.T) {
	t.Parallel()
	r := &refusals{log: slog.New(slog.DiscardHandler)}
	r.failed(nil, nil, nats.ErrSlowConsumer)
	if d := r.delay(100); d != reconnectLatest {
		t.Error(d)
	}
	var before time.Duration
	for range 20 {
		r.failed(nil, nil, nats.ErrAuthorization)
		d := r.delay(1)
		if d < before || d > time.Minute {
			t.Error(before, d)
		}
		before = d
	}
	if before != time.Minute {
		t.Error(before)
	}
	r.over()
	if d := r.delay(1); d != reconnectSoonest {
		t.Error(d)
	}
}
