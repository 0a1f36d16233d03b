package acecode

// The checks of every request, before anything else of it is read.

import (
	"cmp"
	"net/http"
	"net/netip"
	"strings"

	"ac/dialect/acecode/frames"
	"ac/internal/httpguard"
)

// tokenHeader is a header for the token, in addition to those of every listener.
const tokenHeader = "X-ACECode-Token"

// Codes of refusals.
const (
	wordHost   = "host refused"
	wordOrigin = "origin refused"
)

// admit refuses a request that is not allowed. It adds the CORS headers for pages of this machine.
func (s *server) admit(w http.ResponseWriter, r *http.Request) error {
	guard := s.socket.Guard()
	if !guard.IsHost(r) {
		return refuse(http.StatusForbidden, wordHost)
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return refuse(http.StatusForbidden, wordOrigin)
	}
	needed := !s.onLoopback || !httpguard.PeerOf(r.Context()).Trusted
	for _, origin := range r.Header.Values("Origin") {
		own, near := guard.IsOrigin(r, origin)
		if !near {
			return refuse(http.StatusForbidden, wordOrigin)
		}
		needed = needed || !own
		if r.Method == http.MethodOptions || near {
			allowOrigin(w, origin)
		}
	}
	if r.Method == http.MethodOptions {
		return nil
	}
	given := cmp.Or(r.Header.Get(tokenHeader), httpguard.TokenOf(r))
	switch {
	case given != "" && !guard.IsToken(given):
		return refuse(http.StatusUnauthorized, "bad token")
	case given == "" && needed:
		return refuse(http.StatusUnauthorized, "no token")
	}
	return nil
}

// allowOrigin lets a page of this machine read the response (CORS).
func allowOrigin(w http.ResponseWriter, origin string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Headers", "Content-Type, "+tokenHeader)
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
	h.Set("Access-Control-Max-Age", "600")
	h.Add("Vary", "Origin")
}

// isNear reports whether a request comes from this machine.
func isNear(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// shapeOf returns the shape for a request: the one it asks for, else the listener's. If neither is
// set, browsers get ShapeWire and others ShapeDocument.
func (s *server) shapeOf(r *http.Request) frames.Shape {
	switch cmp.Or(r.URL.Query().Get("shape"), s.opts.Shape) {
	case "wire":
		return frames.ShapeWire
	case "document":
		return frames.ShapeDocument
	}
	if r.Header.Get("Origin") != "" {
		return frames.ShapeWire
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			return frames.ShapeWire
		}
	}
	return frames.ShapeDocument
}
