// Package probe asks a server which models it has, without letting a caller reach arbitrary
// hosts (SSRF). The host must be allowed, or all of its addresses must be loopback. It is
// resolved once, and only the addresses that were checked are dialed. Redirects are not
// followed. The answer is bounded in time and size.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"ac/internal/fault"
)

const (
	requestTimeout = 10 * time.Second
	maxAnswer      = 1 << 20
	maxModels      = 2000
)

// Request describes the server to ask.
type Request struct {
	BaseURL string
	Headers http.Header
	// Allowed are the hosts, or hosts with a port, that may be asked besides loopback.
	Allowed []string
}

// Result has the models of a server, and the size of the context of those that report one.
type Result struct {
	Models         []string         `json:"models"`
	ContextWindows map[string]int64 `json:"context_windows"`
}

// HTTPStatus is the data of fault.ProbeHTTPError.
type HTTPStatus struct {
	Status int `json:"status"`
}

// Models requests BASE_URL/models. It waits ten seconds at most.
func Models(ctx context.Context, r Request) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, err := url.Parse(r.BaseURL)
	if err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Hostname() == "" || at.User != nil {
		return Result{}, fault.New(fault.InvalidURL, "base_url must be an http or https address")
	}
	dial, err := r.pinnedDialer(ctx, at)
	if err != nil {
		return Result{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("models").String(), nil)
	if err != nil {
		return Result{}, fault.New(fault.InvalidURL, "base_url must be an http or https address")
	}
	request.Header = r.Headers.Clone()
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return Result{}, probeError(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return Result{}, fault.New(fault.ProbeHTTPError, "host %s answered with status %d", at.Hostname(), answer.StatusCode).With(HTTPStatus{answer.StatusCode})
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return Result{}, probeError(err)
	}
	return read(text)
}

// probeError returns the error for a missing answer, without the URL, which may hold more than a
// host.
func probeError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fault.New(fault.ProbeFailed, "no answer: %w", err)
}

// pinnedDialer resolves and checks the host. The function that it returns dials that host only at the
// addresses that were checked.
func (r Request) pinnedDialer(ctx context.Context, at *url.URL) (func(context.Context, string, string) (net.Conn, error), error) {
	host, port := at.Hostname(), at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	allowed := slices.ContainsFunc(r.Allowed, func(one string) bool {
		return strings.EqualFold(one, host) || strings.EqualFold(one, net.JoinHostPort(host, port))
	})
	found, err := resolve(ctx, host)
	if !allowed && (err != nil || slices.ContainsFunc(found, func(a netip.Addr) bool { return !a.IsLoopback() })) {
		return nil, fault.New(fault.HostNotAllowed, "host %s is not allowed; allow it with ac machine:allow-model-host", host)
	}
	if err != nil {
		return nil, probeError(err)
	}
	dialer := &net.Dialer{}
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		wanted, wantedPort, err := net.SplitHostPort(address)
		if err != nil || !strings.EqualFold(wanted, host) || wantedPort != port {
			return dialer.DialContext(ctx, network, address) // the machine's proxy
		}
		for _, a := range found {
			if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}, nil
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return found, err
}

// model is an entry of the answer, in any of the known forms.
type model struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	ContextWindow int64  `json:"context_window"`
	ContextLength int64  `json:"context_length"`
	MaxModelLen   int64  `json:"max_model_len"`
	InputLimit    int64  `json:"inputTokenLimit"`
}

func read(text []byte) (result Result, err error) {
	result = Result{Models: []string{}, ContextWindows: map[string]int64{}}
	var answer struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	if len(text) > maxAnswer || json.Unmarshal(text, &answer) != nil || answer.Data == nil && answer.Models == nil {
		return result, fault.New(fault.ProbeBadJSON, "the answer is no list of models")
	}
	for _, raw := range append(answer.Data, answer.Models...) {
		var m model
		if json.Unmarshal(raw, &m.ID) != nil && json.Unmarshal(raw, &m) != nil {
			continue // a member has another type: skip the entry
		}
		if m.ID == "" {
			m.ID = strings.TrimPrefix(m.Name, "models/")
		}
		if m.ID == "" || slices.Contains(result.Models, m.ID) || len(result.Models) == maxModels {
			continue
		}
		result.Models = append(result.Models, m.ID)
		if size := max(m.ContextWindow, m.ContextLength, m.MaxModelLen, m.InputLimit); size > 0 {
			result.ContextWindows[m.ID] = size
		}
	}
	return result, nil
}
