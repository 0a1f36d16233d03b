package dialect

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ac/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestListen checks where a dialect may listen: only on loopback, and on a free port.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", ":0"} {
		if s, err := Listen(t.Context(), ListenOptions{Dialect: "x", Address: address}, quiet()); err == nil {
			s.Close()
			t.Errorf("%s is listened on", address)
		} else if address != ":0" && !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", address, err)
		}
	}
	s, err := Listen(t.Context(), ListenOptions{Dialect: "x", Address: "localhost:0"}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Addr(), "localhost:") || strings.HasSuffix(s.Addr(), ":0") {
		t.Error(s.Addr())
	}
	taken := "127.0.0.1:" + s.Guard().Port()
	if _, err := Listen(t.Context(), ListenOptions{Dialect: "x", Address: taken}, quiet()); err == nil || err.Error() != taken+" is in use; give another with --listen" {
		t.Errorf("a port in use: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refused := s.Guard().CheckPeer(r); refused != nil {
				w.WriteHeader(refused.Status)
			}
		}))
	}()
	client := &http.Client{Transport: &http.Transport{}}
	answer, err := client.Get("http://" + taken)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("our own user: %d", answer.StatusCode)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestWithin checks which paths are inside a repository.
func TestWithin(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"a.go": "a.go", "./a/../b.go": "b.go", "/r/a/b.go": "a/b.go"} {
		if got, ok := Within("/r", path); !ok || got != want {
			t.Errorf("%s: %s (%t)", path, got, ok)
		}
	}
	for _, path := range []string{"", ".", "..", "../x", "/r", "/rx/a", "/etc/passwd", "a/../../x"} {
		if got, ok := Within("/r", path); ok {
			t.Errorf("%s is inside, as %s", path, got)
		}
	}
}
