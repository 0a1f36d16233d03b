package worker

// Joining: an invitation becomes a worker with its own key.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// JoinOptions are the parameters of Join.
type JoinOptions struct {
	Token   fleet.Token
	Dir     string // the worker's folder, absolute
	Slots   int    // 0 for the hub's choice
	Labels  []string
	Version string
	Connect func(ctx context.Context, link fleet.WorkerLink) (fleet.WorkerCarrier, error)
}

// Join turns a folder into that of a new worker. The new key is durable before the hub learns of
// it. So a lost reply does not use up the invitation: Join with the same token and folder
// succeeds again. If the folder already belongs to a worker, the error is fault.Conflict.
func Join(ctx context.Context, env workspace.Env, j JoinOptions) (config Config, err error) {
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return config, err
	}
	fsys, err := env.FS(j.Dir)
	if err != nil {
		return config, err
	}
	f := &Folder{fs: fsys, dir: j.Dir, env: env}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.claimEmpty(j.Token); err != nil {
		return config, err
	}
	if f.key, err = f.newKey(); err != nil {
		return config, err
	}
	if f.Instance, err = f.instance(); err != nil {
		return config, err
	}
	invitation, err := fleet.ParseKey(j.Token.Seed)
	if err != nil {
		return config, err
	}
	within, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	carrier, err := j.connect(within, fleet.WorkerLink{
		HubID: j.Token.Hub, WorkerID: j.Token.Worker, URLs: j.Token.URLs, Fingerprint: j.Token.Fingerprint, HubKey: j.Token.HubKey, Key: invitation,
	})
	if err != nil {
		return config, err
	}
	defer carrier.Close()
	reply, err := f.introduce(within, carrier, j)
	if err != nil {
		return config, err
	}
	config = Config{
		SchemaVersion: 1, Type: "worker", ID: j.Token.Worker, Name: reply.Name, HubID: j.Token.Hub, HubKey: j.Token.HubKey, URLs: j.Token.URLs,
		Fingerprint: j.Token.Fingerprint, Labels: j.Labels, Slots: max(1, firstOf(j.Slots, reply.Slots, runtime.NumCPU()/2)), Settings: &reply.Settings,
	}
	text, err := configCodec.Encode(config)
	if err != nil {
		return config, err
	}
	return config, f.write(configFile, text)
}

// refusedFor is the longest pause before retrying a refused invitation.
const refusedFor = time.Second

// connect connects with the invitation's key. It retries refusals with backoff, because a server
// refuses new connections while its hub admits another worker.
func (j JoinOptions) connect(ctx context.Context, link fleet.WorkerLink) (fleet.WorkerCarrier, error) {
	for pause := firstPause; ; pause *= 2 {
		carrier, err := j.Connect(ctx, link)
		if err == nil || !errors.Is(err, fleet.ErrKeyRefused) || pause > refusedFor || !sleep(ctx, pause) {
			return carrier, err
		}
	}
}

// firstOf returns the first number that is not 0.
func firstOf(numbers ...int) int {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}

// claimEmpty refuses a folder that contains anything but leftovers of an interrupted Join.
func (f *Folder) claimEmpty(token fleet.Token) error {
	names, err := f.fs.ReadNames(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case name == configFile:
			config, err := readConfig(f.fs)
			if err == nil && config.ID == token.Worker {
				return fault.New(fault.Conflict, "%s has joined already; start it with ac worker:start --dir %s", f.dir, f.dir)
			}
			return fault.New(fault.Conflict, "%s is the folder of another worker; name another one with --dir", f.dir)
		case name != keyFile && name != instanceFile && !durable.IsTempName(name):
			return fault.New(fault.NotEmpty, "%s is not empty; name another folder with --dir", f.dir)
		}
	}
	return nil
}

// newKey returns the folder's key. It generates one if there is none.
func (f *Folder) newKey() (fleet.Key, error) {
	seed, err := durable.ReadFile(f.fs, keyFile, 4096)
	if err == nil {
		return fleet.ParseKey(string(trimmed(seed)))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fleet.Key{}, err
	}
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		return key, err
	}
	return key, f.write(keyFile, []byte(key.Seed()+"\n"))
}

func trimmed(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// introduce joins the hub by signing the hub's nonce with the new key.
func (f *Folder) introduce(ctx context.Context, carrier fleet.WorkerCarrier, j JoinOptions) (reply fleet.JoinReply, err error) {
	w := &Worker{folder: f, boot: f.env.IDs.Hex(8), carrier: carrier}
	join := fleet.Join{PublicKey: f.key.Public(), Instance: f.Instance, Version: j.Version, OS: runtime.GOOS, Arch: runtime.GOARCH}
	if err := w.ask(ctx, fleet.AskJoin, &join.Stamp, &join, &reply); err != nil || reply.WorkerID != "" {
		return reply, err // on success it had joined before, and the reply was lost
	}
	join.Nonce = reply.Nonce
	join.Signature = base64.RawURLEncoding.EncodeToString(f.key.Raw(fleet.JoinText(j.Token.Hub, j.Token.Worker, join.Nonce, join.PublicKey)))
	reply = fleet.JoinReply{}
	return reply, w.ask(ctx, fleet.AskJoin, &join.Stamp, &join, &reply)
}

// Status is the state of a worker, read from its folder without opening it.
type Status struct {
	WorkerID string         `json:"worker_id"`
	Name     string         `json:"name"`
	HubID    string         `json:"hub_id"`
	URLs     []string       `json:"urls"`
	Slots    int            `json:"slots"`
	Labels   []string       `json:"labels"`
	Running  bool           `json:"running"`
	Attempts []AttemptState `json:"attempts"`
}

// AttemptState is the recorded state of an attempt.
type AttemptState struct {
	Attempt    string `json:"attempt"`
	ProjectID  string `json:"project_id"`
	RunID      string `json:"run_id"`
	SessionRef string `json:"session_ref"`
	State      string `json:"state"`
	Sent       int64  `json:"sent"`
	Sealed     int64  `json:"sealed"`
	Fenced     bool   `json:"fenced,omitempty"`
}

// ReadStatus reads the state of the worker in a folder. It writes nothing.
func ReadStatus(env workspace.Env, dir string) (s Status, err error) {
	fsys, err := env.FS(dir)
	if err != nil {
		return s, fault.New(fault.NotFound, "%s is no folder of a worker: %w", dir, err)
	}
	f := &Folder{fs: fsys, dir: dir, env: env}
	defer func() { err = errors.Join(err, f.Close()) }()
	config, err := readConfig(fsys)
	if err != nil {
		return s, err
	}
	s = Status{
		WorkerID: config.ID, Name: config.Name, HubID: config.HubID, URLs: config.URLs, Slots: config.Slots,
		Labels: append([]string{}, config.Labels...), Attempts: []AttemptState{},
	}
	if s.Running, err = running(fsys); err != nil {
		return s, err
	}
	records, err := f.attempts()
	for _, r := range records {
		s.Attempts = append(s.Attempts, AttemptState{
			Attempt: r.Attempt, ProjectID: r.Order.ProjectID, RunID: r.Order.RunID, SessionRef: r.Order.SessionRef, State: r.State,
			Sent: r.Sent, Sealed: r.Sealed, Fenced: r.Fenced,
		})
	}
	return s, err
}
