package carrier

// The user's own NATS server or cluster, in place of the embedded server. Its operators
// configure who may connect and what they may do: Permissions is what they need for it.

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
	Servers     []string // addresses as of ServerAddress
	Credentials string   // file with a user's JWT and seed, or with the seed of an nkey alone
	CA          string   // file with certificates that the servers' are checked by; "" for the system's
	Replicas    int      // of each stream
	Boot        string   // of the hub, told to another that asks
}

// naturalPort is where NATS listens if nobody said anything else.
const naturalPort = "4222"

// ServerAddress returns the host:port of a server, from a URL with nats:// or tls://, or from
// host[:port]. Connections always use TLS, whatever the URL says. A URL with secrets is
// refused: they belong in the credentials file.
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

// urls are the addresses as the client library wants them.
func (c Cluster) urls() string { return "tls://" + strings.Join(c.Servers, ",tls://") }

// options are those by which the hub connects.
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

// alone refuses a hub while another of its id answers: one on a copy of the workspace. From
// then on this one answers.
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
	_, err = h.conn.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(boot)) }) // who asked asks again
	return err
}

// aliveWithin is how long another hub has to say that it lives.
const aliveWithin = 2 * time.Second

// Allowed is a list of subjects in the configuration format of NATS servers.
type Allowed struct {
	Allow []string `json:"allow"`
}

// Permissions are the rights of a user in the configuration format of NATS servers.
type Permissions struct {
	Publish   Allowed    `json:"publish"`
	Subscribe Allowed    `json:"subscribe"`
	Responses *Responses `json:"allow_responses,omitempty"`
}

// Responses bounds the replies to a request.
type Responses struct {
	Max     int    `json:"max"`
	Expires string `json:"expires"`
}

// Grant is a user for the configuration of NATS servers.
type Grant struct {
	NKey        string      `json:"nkey"`
	Permissions Permissions `json:"permissions"`
}

// GrantOf returns the configuration of a user of a hub.
func GrantOf(hub string, u User) Grant {
	r := RightsOf(hub, u)
	p := Permissions{Publish: Allowed{r.Publish}, Subscribe: Allowed{r.Subscribe}}
	if r.Responses {
		p.Responses = &Responses{1, replyWithin.String()}
	}
	return Grant{u.PublicKey, p}
}
