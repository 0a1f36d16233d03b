package web

// /badge.svg: the icon with the number of needs, for a browser tab.

import (
	"fmt"
	"net/http"
	"strconv"

	"ac/internal/fault"
)

// maxBadge is the largest number that fits on the icon.
const maxBadge = 99

// badge sends the icon with a number. It copies no other part of the request into the icon.
func (s *Server) badge(w http.ResponseWriter, r *http.Request) error {
	query, err := queryOf(r)
	if err != nil {
		return err
	}
	n := 0
	if given := query.Get("n"); given != "" {
		if n, err = strconv.Atoi(given); err != nil || n < 0 {
			return fault.InvalidField("n", "must be a whole number of at least 0")
		}
	}
	ground := "#2f5fd0"
	switch query.Get("state") {
	case "", "live":
	case "lost":
		ground = "#7a7f87"
	default:
		return fault.InvalidField("state", "must be live or lost")
	}
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "max-age=86400")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	send(w, r, http.StatusOK, badgeOf(n, ground))
	return nil
}

func badgeOf(n int, ground string) []byte {
	text := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill=%q/>`+
		`<path d="M7 21h4l3.5-11 4 13 2.5-7H25" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/>`, ground)
	if n > 0 {
		label := strconv.Itoa(n)
		if n > maxBadge {
			label = strconv.Itoa(maxBadge) + "+"
		}
		text = fmt.Appendf(text, `<rect x="8" y="14" width="24" height="18" rx="6" fill="#c22d2d"/><text x="20" y="28" font-family="sans-serif" font-size="%d" font-weight="700" fill="#fff" text-anchor="middle">%s</text>`, 20-3*len(label), label)
	}
	return append(text, "</svg>"...)
}
