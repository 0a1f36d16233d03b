package carrier

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestOnlyStoresAreSuspected checks which messages of the pinned server report a broken store.
func TestOnlyStoresAreSuspected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"JetStream failed to store a msg on stream '$G > AC_x_drafts': no space left on device":                   "AC_x_drafts",
		"JetStream stream '$G > OBJ_ac_x' critical write error: write /a/b: input/output error":                   "OBJ_ac_x",
		"JetStream consumer '$G > AC_x_orders > wkr_1' critical write error: no space left on device":             "AC_x_orders",
		"JetStream consumer '$G > AC_x_orders > wkr_1' errored while updating state: no space left on device":     "AC_x_orders",
		"Filestore [AC_x_drafts] Critical write error: no space left on device":                                   "AC_x_drafts",
		"Filestore [AC_x_drafts] Resource not found: x":                                                           "",
		"JetStream file resource limits exceeded for server":                                                      "",
		"127.0.0.1:1 - cid:7 - TLS handshake error: EOF":                                                          "",
		"127.0.0.1:1 - cid:7 - authentication error - Nkey \"U\"":                                                 "",
		"127.0.0.1:1 - cid:7 - Publish Violation - Subject \"JetStream stream '$G > x' critical write error: a\"": "",
	} {
		if got := brokenStream(text); got != want {
			t.Errorf("%q is of %q, not %q", text, got, want)
		}
	}
}

// fakeStream simulates one stream for a mender.
type fakeStream struct {
	answers                  []error // results of the next probes; nil after the last
	full                     bool
	ensureErr                error
	probed, renewed, ensured int
}

func (f *fakeStream) mender() *mender {
	return &mender{
		hasRoom: func() bool { return !f.full },
		probe: func(string) error {
			f.probed++
			if len(f.answers) == 0 {
				return nil
			}
			err := f.answers[0]
			f.answers = f.answers[1:]
			return err
		},
		renew:    func(string) error { f.renewed++; return nil },
		ensure:   func() error { f.ensured++; return f.ensureErr },
		log:      slog.New(slog.DiscardHandler),
		suspects: map[string]int{"s": 0},
	}
}

func TestAStreamIsMadeAnewOnlyIfItStaysSilent(t *testing.T) {
	t.Parallel()
	silence, refusal := context.DeadlineExceeded, &jetstream.APIError{Code: 503, Description: "maximum bytes exceeded"}
	for name, c := range map[string]struct {
		answers          []error
		renewed, ensured int
	}{
		"healthy":            {nil, 0, 0},
		"full":               {[]error{refusal}, 0, 0},
		"slow":               {[]error{silence, nats.ErrTimeout}, 0, 0},
		"silent":             {[]error{silence, silence, silence}, 1, 0},
		"silent for long":    {[]error{silence, silence, silence, silence, silence, silence}, 2, 0},
		"missing":            {[]error{jetstream.ErrNoStreamResponse}, 0, 1},
		"missing to the API": {[]error{jetstream.ErrStreamNotFound}, 0, 1},
		"unreachable":        {[]error{nats.ErrConnectionClosed}, 0, 0},
	} {
		f := &fakeStream{answers: c.answers}
		m := f.mender()
		for range len(c.answers) + 1 {
			m.next(mendSoonest)
		}
		if f.renewed != c.renewed || f.ensured != c.ensured || len(m.suspects) != 0 {
			t.Errorf("%s: renewed %d times, made %d times, suspects %v", name, f.renewed, f.ensured, m.suspects)
		}
	}
}

// TestAStreamThatCannotBeMadeIsTriedAgain checks that creation is retried with increasing backoff.
func TestAStreamThatCannotBeMadeIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := &fakeStream{ensureErr: errors.New("no")}
	for range 20 {
		f.answers = append(f.answers, jetstream.ErrNoStreamResponse)
	}
	m := f.mender()
	wait := mendSoonest
	var waited time.Duration
	for range 20 {
		waited += wait
		wait = m.next(wait)
	}
	if f.ensured != 20 || f.renewed != 0 || wait != mendLatest || waited < 5*time.Minute {
		t.Errorf("made %d times in %s, renewed %d times, then after %s", f.ensured, waited, f.renewed, wait)
	}
	m.next(wait)
	if len(m.suspects) != 0 {
		t.Error("it is still suspected")
	}
}

func TestNothingIsTouchedOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := &fakeStream{full: true}
	m := f.mender()
	wait := mendSoonest
	for range 10 {
		wait = m.next(wait)
	}
	if f.probed != 0 || wait != mendLatest {
		t.Error(f.probed, wait)
	}
	f.full, f.answers = false, []error{nats.ErrTimeout}
	if wait = m.next(wait); f.probed != 1 || wait != mendSoonest {
		t.Error(f.probed, wait)
	}
}
