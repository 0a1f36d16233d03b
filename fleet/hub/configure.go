package hub

// The hub's configuration, key and certificate, and how it starts the carrier.

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
	"ac/workspace/doc"
)

// running returns the refusal of a second hub.
func running(w *workspace.Workspace) error {
	owner, err := fleet.ReadOwner(w.FS)
	if err != nil {
		return fault.New(fleet.HubRunning, "a hub of this workspace runs already")
	}
	return fault.New(fleet.HubRunning, "a hub of this workspace runs already, as process %d", owner.PID).With(struct {
		PID int `json:"pid"`
	}{owner.PID})
}

// How long to wait for the lock of a killed hub, and how often to retry. A child that the hub was
// just forking holds the lock until it calls exec.
const (
	deadOwner      = 10 * time.Second
	deadOwnerRetry = 5 * time.Millisecond
)

// takeLock takes the hub's lock. It waits only if the recorded hub has died.
func takeLock(ctx context.Context, w *workspace.Workspace) (*lock.Hold, error) {
	elapsed := clock.Stopwatch()
	for {
		hold, err := lock.Try(w.FS, fleet.HubLock())
		if !errors.Is(err, lock.ErrBusy) || elapsed() > deadOwner {
			return hold, err
		}
		owner, readErr := fleet.ReadOwner(w.FS)
		if readErr != nil || (proc.Identity{PID: owner.PID, Start: owner.Start}).Alive() {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(deadOwnerRetry):
		}
	}
}

// defaultListen is the default listen address.
const defaultListen = "127.0.0.1:0"

// configure loads the configuration, or creates it together with the hub's key.
func (h *Hub) configure() error {
	for _, dir := range []string{fleet.HubDir, fleet.WorkersDir, fleet.AttemptsDir, filepath.ToSlash(filepath.Dir(fleet.CertFile)), fleet.CarrierDir} {
		if err := durable.MkdirAll(h.w.FS, dir, 0o700); err != nil {
			return err
		}
	}
	config, err := workspace.Load(h.w, fleet.ConfigCodec, fleet.ConfigFile)
	if fault.Is(err, fault.NotFound) {
		id := make([]byte, 8)
		if _, err := rand.Read(id); err != nil {
			return err
		}
		config = fleet.Config{
			SchemaVersion: doc.Version, Type: "hub", Carrier: fleet.CarrierEmbedded,
			HubID: strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(id))[:10],
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if err := h.chooseCarrier(&config); err != nil {
		return err
	}
	h.config = config
	if err := h.adoptSettings(); err != nil {
		return err
	}
	return h.loadKey()
}

// chooseCarrier applies the options for the carrier: the user's own NATS, or an address to listen
// on. The configuration keeps the last choice.
func (h *Hub) chooseCarrier(config *fleet.Config) error {
	switch {
	case h.o.NATS != nil:
		config.Carrier, config.NATS, config.Listen, config.Advertise = fleet.CarrierNATS, h.o.NATS, nil, nil
	case len(h.o.Listen) > 0:
		config.Carrier, config.NATS, config.Listen = fleet.CarrierEmbedded, nil, h.o.Listen
	}
	if len(h.o.Advertise) > 0 {
		config.Advertise = h.o.Advertise
	}
	if config.Carrier != fleet.CarrierNATS {
		if len(config.Listen) == 0 {
			config.Listen = []string{defaultListen}
		}
		return nil
	}
	if config.NATS == nil || len(config.NATS.Servers) == 0 {
		return fault.New(fault.InvalidFile, "%s: carrier nats needs nats.servers and nats.credentials", fleet.ConfigFile)
	}
	if h.o.CertPEM != nil {
		return fault.New(fault.InvalidParams, "--tls-cert is for a hub that listens; this one is carried by NATS servers of yours")
	}
	return nil
}

// adoptSettings computes the effective settings: defaults, then configuration, then options.
func (h *Hub) adoptSettings() error {
	settings := fleet.Defaults()
	if h.config.Settings != nil {
		settings = settings.Over(*h.config.Settings)
	}
	settings = settings.Over(h.o.Settings)
	if err := settings.Check(); err != nil {
		return err
	}
	h.settings = settings
	return nil
}

// writeConfig writes the configuration. It is durable on return.
func (h *Hub) writeConfig(config fleet.Config) error {
	text, err := fleet.ConfigCodec.Encode(config)
	if err != nil {
		return err
	}
	return h.w.Replace(fleet.ConfigFile, text, 0o600)
}

func (h *Hub) loadKey() error {
	text, err := durable.ReadFile(h.w.FS, fleet.KeyFile, 1<<10)
	if durable.IsAbsent(err) {
		if h.key, err = fleet.NewKey(rand.Reader); err != nil {
			return err
		}
		return h.w.Replace(fleet.KeyFile, []byte(h.key.Seed()+"\n"), 0o600)
	}
	if err != nil {
		return err
	}
	if h.key, err = fleet.ParseKey(strings.TrimSpace(string(text))); err != nil {
		return fault.New(fault.InvalidFile, "%s: %w", fleet.KeyFile, err)
	}
	return nil
}

// certificate returns the carrier's certificate with its fingerprint. The fingerprint is "" for
// the user's own certificate.
func (h *Hub) certificate() (cert, key []byte, fingerprint string, err error) {
	if h.o.CertPEM != nil {
		return h.o.CertPEM, h.o.CertKeyPEM, "", nil
	}
	cert, certErr := durable.ReadFile(h.w.FS, fleet.CertFile, 1<<20)
	key, keyErr := durable.ReadFile(h.w.FS, fleet.CertKeyFile, 1<<20)
	if durable.IsAbsent(certErr) || durable.IsAbsent(keyErr) {
		if cert, key, err = carrier.NewCertificate(h.w.Env.Clock.Now()); err != nil {
			return nil, nil, "", err
		}
		certErr, keyErr = h.w.Replace(fleet.CertFile, cert, 0o600), h.w.Replace(fleet.CertKeyFile, key, 0o600)
	}
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, nil, "", err
	}
	fingerprint, err = carrier.Fingerprint(cert)
	return cert, key, fingerprint, err
}

// connect starts the carrier, unless it is the user's own NATS, and connects to it.
func (h *Hub) connect(ctx context.Context) error {
	options := carrier.HubOptions{HubID: h.config.HubID, Key: h.key, Log: h.o.Log, Answer: h.answer, Workers: h.membersOf}
	fingerprint := ""
	if own := h.config.NATS; h.config.Carrier == fleet.CarrierNATS {
		options.Cluster = &carrier.Cluster{Servers: own.Servers, Credentials: own.Credentials, CA: own.CA, Replicas: own.Replicas, Boot: h.boot}
	} else {
		var err error
		if fingerprint, err = h.embed(ctx); err != nil {
			return err
		}
		options.Server = h.server
	}
	connected, err := carrier.ConnectHub(ctx, options)
	if err != nil {
		return err
	}
	h.carrier = connected
	if h.server == nil {
		if err := h.writeConfig(h.config); err != nil { // keep the options only once they are known to work
			return err
		}
	}
	self := proc.Self()
	h.owner = fleet.Owner{
		PID: self.PID, Start: self.Start, Boot: h.boot, Listen: append([]string{}, h.config.Listen...), Advertise: h.advertised(), Fingerprint: fingerprint,
		Version: h.o.Version, StartedAt: clock.Stamp(h.w.Env.Clock.Now()),
	}
	return nil
}

// embed starts the embedded server.
func (h *Hub) embed(ctx context.Context) (fingerprint string, err error) {
	cert, key, fingerprint, err := h.certificate()
	if err != nil {
		return "", err
	}
	h.server, err = carrier.StartServer(ctx, carrier.ServerOptions{
		HubID: h.config.HubID, HubKey: h.key.Public(), Listen: h.config.Listen, StoreDir: filepath.Join(h.w.Dir(), filepath.FromSlash(fleet.CarrierDir)),
		Cert: cert, Key: key, Users: h.users(), Log: h.o.Log,
	})
	if err != nil {
		return "", err
	}
	// Keep the port: workers reconnect to it.
	h.config.Listen = h.server.Addresses()
	return fingerprint, h.writeConfig(h.config)
}

// advertised returns the addresses for workers. It replaces a wildcard host by the host name.
func (h *Hub) advertised() []string {
	if len(h.config.Advertise) > 0 {
		return h.config.Advertise
	}
	if h.config.Carrier == fleet.CarrierNATS {
		return h.config.NATS.Servers
	}
	list := []string{}
	for _, address := range h.config.Listen {
		host, port, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
			if name, err := os.Hostname(); err == nil {
				address = net.JoinHostPort(name, port)
			}
		}
		list = append(list, address)
	}
	return list
}

// writeOwner writes owner.json, where clients find the hub's socket.
func (h *Hub) writeOwner() error {
	text, err := json.Marshal(h.owner)
	if err != nil {
		return err
	}
	return h.w.Replace(fleet.OwnerFile, text, 0o600)
}

// change changes settings. They are durable on return.
func (h *Hub) change(with fleet.Settings) (fleet.Settings, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, config := h.settings, h.config
	kept := fleet.Settings{}
	if config.Settings != nil {
		kept = *config.Settings
	}
	kept = kept.Over(with)
	config.Settings = &kept
	was := h.config
	h.config = config
	err := h.adoptSettings()
	if err == nil {
		err = h.writeConfig(config)
	}
	if err != nil {
		h.config, h.settings = was, before
		return before, fmt.Errorf("change the settings: %w", err)
	}
	h.wakeTick()
	return h.settings, nil
}

// membersOf returns the workers that have a queue and an object store: all but revoked ones.
func (h *Hub) membersOf() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, w := range h.workers {
		if w.record.State != fleet.WorkerRevoked {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
