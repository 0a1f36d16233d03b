package httpguard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestOrigins checks which pages may use a listener that has no pages of its own.
func TestOrigins(t *testing.T) {
	t.Parallel()
	g := New(Options{Host: "127.0.0.1", At: netip.MustParseAddrPort("127.0.0.1:9876"), Origins: []string{"https://editor.example"}, NeedPort: true})
	for _, c := range []struct {
		host, origin, site string
		pass               bool
	}{
		{"127.0.0.1:9876", "", "", true}, {"localhost:9876", "", "", true}, {"[::1]:9876", "", "none", true},
		{"localhost", "", "", false}, {"localhost:1", "", "", false}, {"evil.example:9876", "", "", false},
		{"localhost:9876", "http://localhost:9876", "", false}, {"localhost:9876", "null", "", false},
		{"localhost:9876", "https://editor.example", "", true}, {"localhost:9876", "https://editor.example", "cross-site", true},
		{"localhost:9876", "https://editor.example.evil", "", false},
		{"localhost:9876", "", "cross-site", false}, {"localhost:9876", "", "same-site", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://x/ws", nil)
		r.Host = c.host
		for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := g.CheckHost(r) == nil && g.CheckOrigin(r) == nil; got != c.pass {
			t.Errorf("%+v passes: %t", c, got)
		}
	}
}

// TestPeer checks that a connection's user is found in the system's tables, and that an unknown
// user is not trusted.
func TestPeer(t *testing.T) {
	t.Parallel()
	if !ChecksPeers() {
		t.Skip("SKIPPED: this system does not tell whose a connection is")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if p := PeerOf(WithPeer(t.Context(), server)); !p.Trusted || !p.Checked {
		t.Errorf("our own connection: %+v", p)
	}
	if p := PeerOf(t.Context()); p.Trusted {
		t.Error("a request without a connection is trusted")
	}
	for _, ends := range [][2]string{{"127.0.0.1:1", "127.0.0.1:2"}, {"192.0.2.1:1", "127.0.0.1:2"}, {"127.0.0.1:1", "192.0.2.1:2"}} {
		if p := peerBetween(netip.MustParseAddrPort(ends[0]), netip.MustParseAddrPort(ends[1]), userOf); p.Trusted {
			t.Errorf("%v is trusted", ends)
		}
	}
}

// TestAnotherUser checks that connections of this user and of root pass, and those of other users
// are refused. A listener with a token does not check the user.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	if !ChecksPeers() {
		t.Skip("SKIPPED: this system does not tell whose a connection is")
	}
	local, remote := netip.MustParseAddrPort("127.0.0.1:9876"), netip.MustParseAddrPort("127.0.0.1:40000")
	open := New(Options{Host: "127.0.0.1", At: local})
	secret := New(Options{Host: "127.0.0.1", At: local, Token: "x"})
	for name, c := range map[string]struct {
		uid         int
		found, pass bool
	}{
		"this user": {os.Getuid(), true, true}, "root": {0, true, true}, "another user": {os.Getuid() + 1, true, false}, "nobody knows": {0, false, false},
	} {
		peer := peerBetween(local, remote, func(end, other netip.AddrPort) (int, bool) {
			if end != remote || other != local {
				t.Errorf("asked for the user of %v", end)
			}
			return c.uid, c.found
		})
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9876/", nil)
		r = r.WithContext(context.WithValue(r.Context(), peerKey{}, func() Peer { return peer }))
		refused := open.CheckPeer(r)
		if (refused == nil) != c.pass || refused != nil && refused.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", name, refused)
		}
		if refused := secret.CheckPeer(r); refused != nil {
			t.Errorf("%s with a token: %+v", name, refused)
		}
	}
}

// FuzzHost searches for a foreign host that passes as one of the listener's own.
func FuzzHost(f *testing.F) {
	for _, text := range []string{"localhost:80", "[::1]:8787", "127.0.0.1", "", ":", "[", "[]", "a:b:c", "[::1%25lo]:1", "evil@localhost:80", "localhost:80:80", "[::1]x:80"} {
		f.Add(text)
	}
	g := New(Options{Host: "127.0.0.1", At: netip.MustParseAddrPort("127.0.0.1:8787")})
	own := map[string]bool{"localhost": true, "127.0.0.1": true}
	f.Fuzz(func(t *testing.T, text string) {
		name, port, ok := splitHost(text)
		if !ok || !g.names[name] || (port != "" && port != g.port) {
			return
		}
		bare := strings.ToLower(strings.TrimSuffix(text, ":"+g.port))
		if address, err := netip.ParseAddr(strings.Trim(bare, "[]")); !own[bare] && (err != nil || address != netip.IPv6Loopback()) {
			t.Errorf("%q passes as %q", text, name)
		}
	})
}
