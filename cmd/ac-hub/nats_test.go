package main

// A hub on the user's own NATS servers, which run as separate processes.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/fleet"
	"ac/workspace/doc"
)

// broker is one NATS server or a cluster, operated by somebody else.
type broker struct {
	t       *testing.T
	dir     string
	ca      string
	seed    string // file with the hub's seed
	hubKey  string
	servers []*natsServer
}

type natsServer struct {
	name, address, route string
	process              *process
}

// newBroker prepares servers: their addresses, a certificate for them, and the key of the hub.
func newBroker(t *testing.T, servers int) *broker {
	t.Helper()
	b := &broker{t: t, dir: t.TempDir()}
	for i := range servers {
		b.servers = append(b.servers, &natsServer{name: fmt.Sprint("s", i), address: freeAddress(t), route: freeAddress(t)})
	}
	b.ca, b.seed = filepath.Join(b.dir, "cert.pem"), filepath.Join(b.dir, "hub.nk")
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b.hubKey = key.Public()
	b.write(b.seed, []byte(key.Seed()+"\n"))
	cert, secret := certificate(t)
	b.write(b.ca, cert)
	b.write(filepath.Join(b.dir, "key.pem"), secret)
	return b
}

func (b *broker) write(name string, text []byte) {
	b.t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// freeAddress returns an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certificate returns a self-signed certificate for this machine.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// configure writes the configuration of each server, with the hub and these users.
func (b *broker) configure(users ...json.RawMessage) {
	b.t.Helper()
	const rights = `publish: ["ac.>", "$JS.>", "$O.>"], subscribe: ["ac.>", "_INBOX.>"], allow_responses: {max: 1, expires: "1m"}`
	list := fmt.Sprintf("{nkey: %s, permissions: {%s}}", b.hubKey, rights)
	for _, user := range users {
		list += ",\n" + string(user)
	}
	for _, s := range b.servers {
		text := fmt.Appendf(nil, `
server_name: %s
listen: "%s"
max_payload: 1MB
jetstream { store_dir: "%s", sync_interval: always }
tls { cert_file: "%s", key_file: "%s" }
authorization { users = [
%s
] }
`, s.name, s.address, b.store(s), b.ca, filepath.Join(b.dir, "key.pem"), list)
		if len(b.servers) > 1 {
			text = fmt.Appendf(text, "cluster { name: c, listen: \"%s\", routes = [\n", s.route)
			for _, other := range b.servers {
				text = fmt.Appendf(text, "nats://%s\n", other.route)
			}
			text = append(text, "] }\n"...)
		}
		b.write(b.config(s), text)
	}
}

func (b *broker) config(s *natsServer) string { return filepath.Join(b.dir, s.name+".conf") }
func (b *broker) store(s *natsServer) string  { return filepath.Join(b.dir, "store-"+s.name) }

// newCompanyOn returns a company whose hub uses servers of somebody else.
func newCompanyOn(b *broker) *company {
	b.t.Helper()
	b.configure()
	c := makeCompany(b.t)
	c.environ = append(os.Environ(), "SSL_CERT_FILE="+b.ca)
	c.hubArgs = append(c.hubArgs, "--creds", b.seed, "--nats-ca", b.ca, "--replicas", fmt.Sprint(len(b.servers)))
	for _, s := range b.servers {
		s.process = c.start("nats-server", b.config(s))
		b.t.Cleanup(func() { c.kill(s.process) })
		c.hubArgs = append(c.hubArgs, "--nats", "nats://"+s.address)
	}
	c.relay.leadTo(b.servers[0].address)
	c.admit = func() { b.admit(c) }
	b.t.Cleanup(c.end)
	c.startHub()
	return c
}

// admit configures the servers with the users of the company's workers, as their operators do.
func (b *broker) admit(c *company) {
	b.t.Helper()
	var users []json.RawMessage
	for name := range c.folders {
		out, err := c.command("hub:permissions", c.w.Dir(), "--worker", name).CombinedOutput()
		var p struct{ Users []json.RawMessage }
		if err == nil {
			err = json.Unmarshal(out, &p)
		}
		if err != nil {
			b.t.Fatalf("%s: %v", out, err)
		}
		users = append(users, p.Users...)
	}
	b.configure(users...)
	const reloaded = "Reloaded server configuration"
	for _, s := range b.servers {
		before := strings.Count(s.process.stderr.String(), reloaded)
		if err := s.process.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			b.t.Fatal(err)
		}
		c.until("the server knows the users", func() bool { return strings.Count(s.process.stderr.String(), reloaded) > before })
	}
}

// TestNATSOfOnesOwn checks that sessions run over servers that somebody else operates, even if
// those die and lose all their data.
func TestNATSOfOnesOwn(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	c := newCompanyOn(b)
	c.hire("box", 2)
	var status fleet.StatusResult
	c.ask(fleet.HubStatus, struct{}{}, &status)
	if status.Carrier != fleet.CarrierNATS || status.Durability != "weak" || len(status.Listen) > 0 {
		t.Errorf("%+v", status)
	}
	first, starts := c.chatty(5)
	c.whole(first, starts, 5)

	second, starts := c.chatty(100)
	c.until("it runs", func() bool { _, printed := c.log(second); return strings.HasPrefix(printed, "line 1\n") })
	c.kill(c.hub)
	only := b.servers[0]
	c.kill(only.process)
	if err := os.RemoveAll(b.store(only)); err != nil {
		t.Fatal(err)
	}
	only.process = c.start("nats-server", b.config(only))
	c.startHub()
	c.kill(c.workers["box"])
	c.startWorker("box")
	c.whole(second, starts, 100)

	third, _ := c.chatty(1 << 20)
	c.until("it runs, too", func() bool { _, printed := c.log(third); return strings.HasPrefix(printed, "line 1\n") })
	c.ask(fleet.HubRevoke, fleet.RevokeRequest{WorkerID: "box"}, nil)
	if record := c.collect(third); record.Status != doc.StatusFailed || record.Reason != "worker_lost" {
		t.Errorf("%s: %s (%s)", record.Status, record.Error, record.Reason)
	}
	out, err := c.command("hub:permissions", c.w.Dir(), "--worker", "box").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no worker box") {
		t.Errorf("%s: %v", out, err)
	}
	for _, dir := range c.folders {
		c.until("its session is gone", func() bool { return len(processesIn(dir)) == 0 })
	}
}

// TestAClusterOfThree checks that a session survives the death and return of each server.
func TestAClusterOfThree(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 3)
	c := newCompanyOn(b)
	var status fleet.StatusResult
	c.ask(fleet.HubStatus, struct{}{}, &status)
	if status.Carrier != fleet.CarrierNATS || status.Durability != "" {
		t.Errorf("%+v", status)
	}
	c.hire("box", 2)
	order, starts := c.chatty(200)
	for i, s := range b.servers {
		c.until("it goes on", func() bool {
			_, printed := c.log(order)
			return strings.Contains(printed, fmt.Sprintf("line %d\n", 40*(i+1)))
		})
		c.kill(s.process)
		s.process = c.start("nats-server", b.config(s))
	}
	c.whole(order, starts, 200)
}

// TestOneHubOnACluster checks that a hub on a copy of the workspace refuses to run beside the
// original one.
func TestOneHubOnACluster(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	c := newCompanyOn(b)
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(c.w.Dir())); err != nil && !strings.Contains(err.Error(), "socket") {
		t.Fatal(err)
	}
	out, err := c.command("hub:start", dir).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "a hub with this id answers elsewhere") {
		t.Errorf("%s: %v", out, err)
	}
	c.kill(c.hub)
	second := c.start("hub:start", dir)
	c.kill(second)
	c.startHub()
}

// TestNATSFlags checks that invalid flags are refused with a message that says what to do.
func TestNATSFlags(t *testing.T) {
	t.Parallel()
	c := makeCompany(t)
	t.Cleanup(c.end)
	out, err := c.command("hub:permissions", c.w.Dir(), "--worker", "box").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has no hub yet") {
		t.Errorf("%q: %v", out, err)
	}
	nonsense := filepath.Join(t.TempDir(), "creds")
	if err := os.WriteFile(nonsense, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--nats needs --creds":                 {"--nats", "nats://127.0.0.1:4222"},
		"--creds and --nats-ca go with --nats": {"--creds", "x"},
		"exclude each other":                   {"--nats", "a:1", "--creds", "x", "--listen", "127.0.0.1:0"},
		"must be nats://HOST:PORT":             {"--nats", "http://a:1", "--creds", "x"},
		"without user and password":            {"--nats", "nats://u:p@a:1", "--creds", "x"},
		"between 1 and 5":                      {"--nats", "a:1", "--creds", "x", "--replicas", "9"},
		"read the credentials of the hub":      {"--nats", "a:1", "--creds", filepath.Join(t.TempDir(), "none")},
		"neither a JWT of a user nor the seed": {"--nats", "a:1", "--creds", nonsense},
		"has no certificate":                   {"--nats", "a:1", "--creds", nonsense, "--nats-ca", os.DevNull},
		"--replicas goes with --nats":          {"--replicas", "3"},
	} {
		out, err := c.command(append([]string{"hub:start", c.w.Dir()}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %q: %v", args, out, err)
		}
	}
}

// TestAnAddressInUse checks that the hub refuses to start, with a one-line error.
func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	c := makeCompany(t)
	t.Cleanup(c.end)
	address := c.relay.listener.Addr().String()
	out, err := c.command("hub:start", c.w.Dir(), "--listen", address).CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "ERROR: the hub cannot listen at "+address+": ") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%s: %v", out, err)
	}
}
