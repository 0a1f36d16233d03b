package main

// The command that runs the hub in the foreground.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/fleet/hub"
	"ac/internal/clock"
	"ac/workspace"
)

// hubFlags are the options of hub:start.
type hubFlags struct {
	listen, advertise            []string
	cert, certKey                string
	nats                         []string
	creds, natsCA                string
	replicas                     int
	beat, unreachable            time.Duration
	lease, leaseMargin, claiming time.Duration
	onCutOff                     string
}

func (a *app) hubStart() *cobra.Command {
	var f hubFlags
	cmd := &cobra.Command{
		Use: "hub:start DIR", Short: "Run the hub of a workspace, until SIGTERM or SIGINT; sessions go on",
		Args: rangeArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runHub(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.listen, "listen", nil, "host:port to listen at, repeatable; kept in hub.yaml")
	flags.StringArrayVar(&f.advertise, "advertise", nil, "host:port that workers are sent to, repeatable; kept in hub.yaml")
	flags.StringVar(&f.cert, "tls-cert", "", "certificate that workers check by name, PEM")
	flags.StringVar(&f.certKey, "tls-key", "", "its private key, PEM")
	flags.StringArrayVar(&f.nats, "nats", nil, "a NATS server of yours that carries in place of --listen, repeatable; kept in hub.yaml")
	flags.StringVar(&f.creds, "creds", "", "the hub's credentials there: a file with a JWT and seed, or the seed of an nkey; kept in hub.yaml")
	flags.StringVar(&f.natsCA, "nats-ca", "", "certificates that its own are checked by, PEM, in place of the system's; kept in hub.yaml")
	flags.IntVar(&f.replicas, "replicas", 0, "on how many servers of a cluster each stream is, 1 unless told; kept in hub.yaml")
	flags.DurationVar(&f.beat, "beat", 0, "time between two beats of a worker")
	flags.DurationVar(&f.unreachable, "unreachable-after", 0, "how long a worker may be silent")
	flags.DurationVar(&f.lease, "lease", 0, "how long a session may go on without its hub")
	flags.DurationVar(&f.leaseMargin, "lease-margin", 0, "how much longer the hub waits")
	flags.DurationVar(&f.claiming, "claim-within", 0, "how long an order waits for a worker")
	flags.StringVar(&f.onCutOff, "on-cut-off", "", "what happens at the end of a lease: stop or continue")
	return cmd
}

// settings returns the settings for the lifetime of this hub.
func (f hubFlags) settings() (fleet.Settings, error) {
	switch f.onCutOff {
	case "", fleet.CutOffStop, fleet.CutOffContinue:
	default:
		return fleet.Settings{}, usageError{errors.New("--on-cut-off must be stop or continue")}
	}
	if f.lease != 0 && f.lease < time.Second {
		return fleet.Settings{}, usageError{errors.New("--lease must be at least 1s")}
	}
	if f.beat != 0 && (f.beat < 100*time.Millisecond || f.beat > time.Minute) {
		return fleet.Settings{}, usageError{errors.New("--beat must be between 100ms and 1m")}
	}
	return fleet.Settings{
		BeatMS: f.beat.Milliseconds(), UnreachableAfterMS: f.unreachable.Milliseconds(), LeaseS: int64(f.lease / time.Second),
		LeaseMarginMS: f.leaseMargin.Milliseconds(), ClaimWithinMS: f.claiming.Milliseconds(), OnCutOff: f.onCutOff,
	}, nil
}

// natsConfig returns the configuration of the user's own NATS, nil if no option sets it.
func (f hubFlags) natsConfig() (*fleet.NATSConfig, error) {
	switch {
	case len(f.nats) == 0 && (f.creds != "" || f.natsCA != ""):
		return nil, usageError{errors.New("--creds and --nats-ca go with --nats")}
	case len(f.nats) == 0 && f.replicas != 0:
		return nil, usageError{errors.New("--replicas goes with --nats")}
	case len(f.nats) == 0:
		return nil, nil
	case len(f.listen) > 0:
		return nil, usageError{errors.New("--nats and --listen exclude each other: a hub that is carried by your NATS does not listen")}
	case f.creds == "":
		return nil, usageError{errors.New("--nats needs --creds FILE, the hub's credentials there")}
	case f.replicas < 0 || f.replicas > maxReplicas:
		return nil, usageError{fmt.Errorf("--replicas must be between 1 and %d", maxReplicas)}
	}
	own := &fleet.NATSConfig{Replicas: max(f.replicas, 1)}
	for _, text := range f.nats {
		address, err := carrier.ServerAddress(text)
		if err != nil {
			return nil, usageError{err}
		}
		own.Servers = append(own.Servers, address)
	}
	var err error
	if own.Credentials, err = filepath.Abs(f.creds); err == nil && f.natsCA != "" {
		own.CA, err = filepath.Abs(f.natsCA)
	}
	return own, err
}

// maxReplicas is the maximum that JetStream supports.
const maxReplicas = 5

// hubPermissions prints what operators of the user's own NATS need for a worker.
func (a *app) hubPermissions() *cobra.Command {
	worker := ""
	cmd := &cobra.Command{
		Use: "hub:permissions DIR --worker W", Short: "Print what a worker may do on NATS servers of yours, as JSON",
		Args: rangeArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if worker == "" {
				return usageError{errors.New("--worker NAME is missing: the worker's id or name")}
			}
			w, err := workspace.Open(a.env, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, w.Close()) }()
			permissions, err := hub.PermissionsOf(w, worker)
			if err != nil {
				return err
			}
			e := json.NewEncoder(a.stdout)
			e.SetEscapeHTML(false) // the servers do not parse \u003e
			e.SetIndent("", "  ")
			return e.Encode(permissions)
		},
	}
	cmd.Flags().StringVar(&worker, "worker", "", "the worker's id or name")
	return cmd
}

// readyLine is printed when workers can connect.
type readyLine struct {
	HubID       string   `json:"hub_id"`
	Listen      []string `json:"listen"`
	Advertise   []string `json:"advertise"`
	Fingerprint string   `json:"fingerprint"`
	PID         int      `json:"pid"`
}

func (a *app) runHub(ctx context.Context, dir string, f hubFlags) (err error) {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	o := hub.Options{
		Version: a.version, Speaks: a.speaks, Environ: a.environ, Log: a.log(), Listen: f.listen, Advertise: f.advertise, Settings: settings, Elapsed: clock.Stopwatch(),
	}
	if o.NATS, err = f.natsConfig(); err != nil {
		return err
	}
	if (f.cert == "") != (f.certKey == "") {
		return usageError{errors.New("--tls-cert and --tls-key go together")}
	}
	if f.cert != "" {
		if o.CertPEM, err = os.ReadFile(f.cert); err != nil {
			return err
		}
		if o.CertKeyPEM, err = os.ReadFile(f.certKey); err != nil {
			return err
		}
	}
	if o.Workspace, err = workspace.Open(a.env, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Workspace.Close()) }()
	h, err := hub.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	owner := h.Owner()
	line, err := json.Marshal(readyLine{h.HubID(), owner.Listen, owner.Advertise, owner.Fingerprint, owner.PID})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s\n", line)
	select {
	case <-ctx.Done():
	case <-h.Stopped():
	}
	return nil
}
