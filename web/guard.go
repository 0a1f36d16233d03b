package web

// Access control: accepted Host names (DNS rebinding), accepted origins (CSRF),
// and the token of servers that other machines can reach.

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// guard checks a request before anything of it is carried out. A page of
// another site can send requests to a server on this machine (CSRF). By DNS
// rebinding, a name that resolves to this machine, it can also read the
// answers. But it cannot make a browser lie about Host and Origin.
type guard struct {
	names map[string]bool // lower case, addresses in canonical form
	port  string
	token string // "" on loopback
	// everywhere means that the server listens on all addresses of the machine:
	// then each address at which a connection arrives is accepted.
	everywhere bool
}

func newGuard(host string, at netip.AddrPort, token string) *guard {
	return &guard{
		names: map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true, plainName(host): true},
		port:  strconv.Itoa(int(at.Port())), token: token, everywhere: at.Addr().IsUnspecified(),
	}
}

// check returns the refusal of a request, nil if it may pass.
func (g *guard) check(r *http.Request) *refusal {
	if !g.isHost(r) {
		return refuse(http.StatusForbidden, "the Host header does not name this server")
	}
	if g.token != "" && !g.hasToken(r) {
		return refuse(http.StatusUnauthorized, "the token of this server is required")
	}
	isPage := r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if isPage {
		return nil
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.isOwn(r, origin) {
			return refuse(http.StatusForbidden, "cross-origin requests are refused")
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "cross-site", "same-site":
		return refuse(http.StatusForbidden, "cross-origin requests are refused")
	}
	return nil
}

// isHost reports whether the Host of a request is one of this server's names.
func (g *guard) isHost(r *http.Request) bool {
	name, port, ok := splitHost(r.Host)
	return ok && (port == "" || port == g.port) && g.goesBy(r, name)
}

// isOwn reports whether an origin is this server.
func (g *guard) isOwn(r *http.Request, origin string) bool {
	rest, http := strings.CutPrefix(strings.ToLower(origin), "http://")
	name, port, ok := splitHost(rest)
	if port == "" {
		port = "80"
	}
	return http && ok && port == g.port && g.goesBy(r, name)
}

func (g *guard) goesBy(r *http.Request, name string) bool {
	if g.names[name] {
		return true
	}
	if !g.everywhere {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().String() == name
}

// hasToken compares in constant time.
func (g *guard) hasToken(r *http.Request) bool {
	given := r.URL.Query().Get("token")
	if scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(bearer)
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) == 1
}

// splitHost splits a host from its optional port: the name in lower case, or an
// address in canonical form without brackets.
func splitHost(text string) (name, port string, ok bool) {
	if inner, found := strings.CutPrefix(text, "["); found {
		address, rest, closed := strings.Cut(inner, "]")
		parsed, err := netip.ParseAddr(address)
		if !closed || err != nil || !parsed.Is6() || parsed.Zone() != "" {
			return "", "", false
		}
		name, text = parsed.String(), rest
	} else {
		name, text = text, ""
		if i := strings.IndexByte(name, ':'); i >= 0 {
			name, text = name[:i], name[i:]
		}
		name = strings.ToLower(name)
	}
	port, hasPort := strings.CutPrefix(text, ":")
	if !hasPort {
		return name, "", name != "" && text == ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return name, port, name != "" && err == nil && strconv.FormatUint(n, 10) == port
}

// plainName is a host in the form of splitHost.
func plainName(host string) string {
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return address.Unmap().WithZone("").String()
	}
	return strings.ToLower(host)
}

// address is the URL of the server.
func address(host, port, token string) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(strings.Trim(host, "[]"), port)}
	if token != "" {
		u.Path, u.RawQuery = "/", url.Values{"token": {token}}.Encode()
	}
	return u.String()
}
