// Package httpguard checks requests to the listeners of this machine before anything in them is
// carried out: the Host name (DNS rebinding), the origin (CSRF), the token of listeners that
// other machines can reach, and the user at the other end. The control room and every dialect
// use it, each with its own options.
package httpguard

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Options configure the guard of one listener.
type Options struct {
	// Host is the requested name or address to listen on, At the resulting address.
	Host string
	At   netip.AddrPort
	// Token is required of every request, "" for none.
	Token string
	// Cookie is the name of the cookie in which browsers may send the token, "" for none.
	Cookie string
	// OwnPages accepts the origin of pages that this listener serves. Origins are the other
	// accepted origins, compared exactly.
	OwnPages bool
	Origins  []string
	// NeedPort rejects a Host without the port.
	NeedPort bool
	// Names are further names of the listener.
	Names []string
}

// Guard checks requests. It is immutable and safe for concurrent use.
//
// A page of another site can send requests to a server on this machine (CSRF). With DNS
// rebinding, a name of its own that resolves to this machine, it can also read the answers. But
// it cannot make a browser lie about Host and Origin.
type Guard struct {
	names    map[string]bool // lower case, addresses in canonical form
	port     string
	token    string
	cookie   string
	ownPages bool
	needPort bool
	origins  []string
	// everywhere means that the server listens on all addresses of the machine. Then the local
	// address of each connection is an accepted name.
	everywhere bool
}

// New returns the guard of a listener.
func New(o Options) *Guard {
	names := map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true, PlainName(o.Host): true}
	for _, name := range o.Names {
		names[PlainName(name)] = true
	}
	return &Guard{
		names: names,
		port:  strconv.Itoa(int(o.At.Port())), token: o.Token, cookie: o.Cookie, everywhere: o.At.Addr().IsUnspecified(),
		ownPages: o.OwnPages, origins: o.Origins, needPort: o.NeedPort,
	}
}

// Refusal describes why a request is rejected.
type Refusal struct {
	Status  int
	Message string
}

// Port returns the port of the listener.
func (g *Guard) Port() string { return g.port }

// Token returns the token that every request needs, "" for none.
func (g *Guard) Token() string { return g.token }

// CheckHost returns why a request is rejected for its Host or its token, nil if it is accepted.
func (g *Guard) CheckHost(r *http.Request) *Refusal {
	if !g.IsHost(r) {
		return &Refusal{http.StatusForbidden, "the Host header does not name this server"}
	}
	if g.token != "" && !g.hasToken(r) {
		return &Refusal{http.StatusUnauthorized, "the token of this server is required"}
	}
	return nil
}

// CheckOrigin returns why a request is rejected that a page of another site may have sent, nil
// if it is accepted.
func (g *Guard) CheckOrigin(r *http.Request) *Refusal {
	for _, origin := range r.Header.Values("Origin") {
		if !slices.Contains(g.origins, origin) && (!g.ownPages || !g.isOwn(r, origin)) {
			return &Refusal{http.StatusForbidden, "cross-origin requests are refused"}
		}
	}
	if r.Header.Get("Origin") != "" && slices.Contains(g.origins, r.Header.Get("Origin")) {
		return nil // for an accepted origin Sec-Fetch-Site adds nothing
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "cross-site", "same-site":
		return &Refusal{http.StatusForbidden, "cross-origin requests are refused"}
	}
	return nil
}

// CheckPeer rejects a peer that is not trusted, unless the listener requires a token.
func (g *Guard) CheckPeer(r *http.Request) *Refusal {
	if g.token != "" || PeerOf(r.Context()).Trusted {
		return nil
	}
	return &Refusal{http.StatusForbidden, "this listener serves the user who started it only"}
}

// IsHost reports whether the Host of a request is one of this server's names.
func (g *Guard) IsHost(r *http.Request) bool {
	name, port, ok := splitHost(r.Host)
	return ok && (port == g.port || port == "" && !g.needPort) && g.isOwnName(r, name)
}

// isOwn reports whether an origin is that of this server.
func (g *Guard) isOwn(r *http.Request, origin string) bool {
	rest, http := strings.CutPrefix(strings.ToLower(origin), "http://")
	name, port, ok := splitHost(rest)
	if port == "" {
		port = "80"
	}
	return http && ok && port == g.port && g.isOwnName(r, name)
}

func (g *Guard) isOwnName(r *http.Request, name string) bool {
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

// hasToken reports whether a request carries the token. Browsers add cookies to the requests of
// any page, so a cookie alone does not authorize a request that may change something. Such a
// request also needs an Origin header, which CheckOrigin verifies.
func (g *Guard) hasToken(r *http.Request) bool {
	if g.IsToken(TokenOf(r)) {
		return true
	}
	if g.cookie == "" || r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") == "" {
		return false
	}
	brought, err := r.Cookie(g.cookie)
	return err == nil && g.IsToken(brought.Value)
}

// SetCookie stores the token that a browser sent in the URL in a session cookie.
func (g *Guard) SetCookie(w http.ResponseWriter, r *http.Request) {
	if g.cookie != "" && g.IsToken(r.URL.Query().Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
}

// TokenOf returns the token in a request: the bearer token, else the one in the URL, "" for
// none.
func TokenOf(r *http.Request) string {
	if scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(bearer)
	}
	return r.URL.Query().Get("token")
}

// IsToken reports whether a text is the token of the listener. It compares in constant
// time.
func (g *Guard) IsToken(given string) bool {
	return g.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) == 1
}

// IsOrigin reports whether an origin is that of this listener, and whether it is on loopback,
// at any port. The listener's own origin counts as both.
func (g *Guard) IsOrigin(r *http.Request, origin string) (own, loopback bool) {
	if g.isOwn(r, origin) {
		return true, true
	}
	scheme, rest, found := strings.Cut(strings.ToLower(origin), "://")
	name, _, ok := splitHost(rest)
	if !found || !ok || scheme != "http" && scheme != "https" {
		return false, false
	}
	at, err := netip.ParseAddr(name)
	return false, name == "localhost" || err == nil && at.IsLoopback()
}

// splitHost splits a host from its optional port. It returns the name in lower case, or an
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

// PlainName returns a host in the form of splitHost.
func PlainName(host string) string {
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return address.Unmap().WithZone("").String()
	}
	return strings.ToLower(host)
}

// Address returns the URL of a server, including its token if it has one.
func Address(host, port, token string) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(strings.Trim(host, "[]"), port)}
	if token != "" {
		u.Path, u.RawQuery = "/", url.Values{"token": {token}}.Encode()
	}
	return u.String()
}
