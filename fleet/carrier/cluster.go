package carrier

// The user's own NATS server or cluster, in place of the embedded server. Its operators configure
// who may connect and with which permissions. GrantOf returns the latter.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ac/fleet"
	"ac/internal/fault"
)

// Cluster is how a hub connects to the user's own NATS.
type Cluster struct {
	Servers     []string // as ServerAddress returns them
	Credentials string   // file with a user's JWT and seed, or only with an nkey's seed
	CA          string   // file with the certificates that verify the servers; "" for the system's
	Replicas    int      // replicas of each stream
	Boot        string   // the hub's boot id, its reply to another hub
}

// naturalPort is the default port of NATS.
const naturalPort = "4222"

// ServerAddress returns the host:port of a server. It accepts a URL with nats:// or tls://, or
// host[:port]. Connections always use TLS, whatever the URL says. A URL with secrets is refused:
// they belong in the credentials file.
func ServerAddress(text string) (string, error) {
	whole := text
	if !strings.Contains(text, "://") {
		whole = "tls://" + text
	}
	u, err := url.Parse(whole)
	if err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", errors.New("--nats must be nats://HOST:PORT or tls://HOST:PORT")
	}
	if u.User != nil {
		return "", errors.New("--nats must be without user and password; give a file by --creds")
	}
	port := u.Port()
	if port == "" {
		port = naturalPort
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// urls returns the servers as a list for the client library.
func (c Cluster) urls() string { return "tls://" + strings.Join(c.Servers, ",tls://") }

// options returns the hub's connection options.
func (c Cluster) options() ([]nats.Option, error) {
	secured := &tls.Config{MinVersion: tls.VersionTLS13}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of the NATS servers: %w", err)
		}
		secured.RootCAs = x509.NewCertPool()
		if !secured.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", c.CA)
		}
	}
	text, err := os.ReadFile(c.Credentials)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of the hub: %w", err)
	}
	who := nats.UserCredentials(c.Credentials)
	if !strings.Contains(string(text), "BEGIN NATS USER JWT") {
		if who, err = nats.NkeyOptionFromSeed(c.Credentials); err != nil {
			return nil, fmt.Errorf("%s has neither a JWT of a user nor the seed of an nkey: %w", c.Credentials, err)
		}
	}
	return []nats.Option{who, nats.Secure(secured)}, nil
}

// alone fails with fleet.HubElsewhere if another hub with the same id answers, for example one on
// a copy of the workspace. Otherwise this hub answers such requests from now on.
func (h *Hub) alone(ctx context.Context, boot string) error {
	subject := h.subjects.Alive()
	within, cancel := context.WithTimeout(ctx, aliveWithin)
	defer cancel()
	reply, err := h.conn.RequestWithContext(within, subject, []byte(boot))
	switch {
	case err == nil && string(reply.Data) != boot:
		return fault.New(fleet.HubElsewhere, "a hub with this id answers elsewhere: of a copy of the workspace, or on another machine; one of them must end")
	case err != nil && !errors.Is(err, nats.ErrNoResponders) && within.Err() == nil:
		return unavailable("ask for another hub", err)
	}
	_, err = h.conn.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(boot)) }) // best effort
	return err
}

// aliveWithin is how long another hub has to reply.
const aliveWithin = 2 * time.Second

// Allowed is a list of subjects in the configuration format of NATS servers.
type Allowed struct {
	Allow []string `json:"allow"`
}

// Permissions are a user's permissions in the configuration format of NATS servers.
type Permissions struct {
	Publish   Allowed    `json:"publish"`
	Subscribe Allowed    `json:"subscribe"`
	Responses *Responses `json:"allow_responses,omitempty"`
}

// Responses limits the replies to a request.
type Responses struct {
	Max     int    `json:"max"`
	Expires string `json:"expires"`
}

// Grant is a user in the configuration format of NATS servers.
type Grant struct {
	NKey        string      `json:"nkey"`
	Permissions Permissions `json:"permissions"`
}

// GrantOf returns the configuration entry for a user of a hub.
func GrantOf(hub string, u User) Grant {
	r := RightsOf(hub, u)
	p := Permissions{Publish: Allowed{r.Publish}, Subscribe: Allowed{r.Subscribe}}
	if r.Responses {
		p.Responses = &Responses{1, replyWithin.String()}
	}
	return Grant{u.PublicKey, p}
}
