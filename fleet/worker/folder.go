package worker

// The worker's folder: its document, its key, its spool and its mirrors.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/yamldoc"
	"ac/workspace"
)

// Paths in the folder.
const (
	configFile   = "worker.yaml"
	keyFile      = "key"
	instanceFile = "instance"
	lockFile     = "lock"
	attemptsDir  = "attempts"
	spoolDir     = "spool"
	mirrorsDir   = "mirrors"
	workDir      = "work"    // working directories of sessions without a repository
	parcelsDir   = "parcels" // results in transfer
	reserveFile  = "reserve"
)

// Config is worker.yaml, the settings of a worker. Users may edit it.
type Config struct {
	_             struct{}          `is:"strict"`
	SchemaVersion int               `json:"schema_version" is:"default=1,min=1"`
	Type          string            `json:"type" is:"enum=worker"`
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	HubID         string            `json:"hub_id"`
	HubKey        string            `json:"hub_key"`
	URLs          []string          `json:"urls"`
	Fingerprint   string            `json:"fingerprint" is:"optional"`
	Labels        []string          `json:"labels" is:"optional"`
	Slots         int               `json:"slots" is:"min=1,max=1000"`
	Settings      *fleet.Settings   `json:"settings" is:"optional"` // the hub's, as last received
	EnvPass       []string          `json:"env_pass" is:"optional"`
	Secrets       map[string]Secret `json:"secrets" is:"optional"`
	Repos         map[string]Remote `json:"repos" is:"optional"`
}

// Secret is where a worker finds the value of a secret. Exactly one member is set.
type Secret struct {
	_       struct{} `is:"strict"`
	Env     string   `json:"env" is:"optional"`
	File    string   `json:"file" is:"optional,path"`
	Command []string `json:"command" is:"optional"`
}

// Remote is the source from which a worker fetches a repository.
type Remote struct {
	_      struct{} `is:"strict"`
	Remote string   `json:"remote"`
}

// Check refuses a document without a hub or worker, and secrets without exactly one source.
func (c *Config) Check() (issues []fault.Issue) {
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "invalid_string", Message: message})
	}
	if !fleet.IsWorker(c.ID) {
		refuse("must be the id of a worker", "id")
	}
	if !fleet.IsHub(c.HubID) || !fleet.IsPublicKey(c.HubKey) || len(c.URLs) == 0 {
		refuse("must name a hub with its key and its addresses", "hub_id")
	}
	for i, label := range c.Labels {
		if !fleet.IsLabel(label) {
			refuse("is no label", "labels", i)
		}
	}
	for name, s := range c.Secrets {
		sources := 0
		for _, set := range []bool{s.Env != "", s.File != "", len(s.Command) > 0} {
			if set {
				sources++
			}
		}
		if sources != 1 {
			refuse("must have one of env, file and command", "secrets", name)
		}
	}
	return issues
}

// configCodec reads and writes worker.yaml.
var configCodec = yamldoc.For[Config]()

func (c Config) settings() fleet.Settings {
	if c.Settings == nil {
		return fleet.Defaults()
	}
	return fleet.Defaults().Over(*c.Settings)
}

// Folder is the opened folder of a worker. Its lock is held until Close.
type Folder struct {
	Config   Config
	Spool    *workspace.Workspace
	Mirrors  durable.FS
	Instance string

	fs   durable.FS
	dir  string
	key  fleet.Key
	hold *lock.Hold
	env  workspace.Env
}

// How long a starting worker waits for the lock of a killed one. A child that the killed worker
// was just forking holds the lock until it calls exec.
const (
	lockPatience = time.Second
	lockRetry    = 5 * time.Millisecond
)

func lockWithRetry(ctx context.Context, fsys durable.FS) (*lock.Hold, error) {
	elapsed := clock.Stopwatch()
	for {
		hold, err := lock.Try(fsys, lockFile)
		if !errors.Is(err, lock.ErrBusy) || elapsed() > lockPatience {
			return hold, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockRetry):
		}
	}
}

// OpenFolder opens and locks the folder of a worker that has joined. If another process holds the
// lock, the error is fleet.WorkerRunning. If the folder has no worker, it is fault.NotFound.
func OpenFolder(ctx context.Context, env workspace.Env, dir string) (folder *Folder, err error) {
	fsys, err := env.FS(dir)
	if err != nil {
		return nil, fault.New(fault.NotFound, "%s is no folder of a worker: %w", dir, err)
	}
	f := &Folder{fs: fsys, dir: dir, env: env}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if f.hold, err = lockWithRetry(ctx, fsys); errors.Is(err, lock.ErrBusy) {
		return nil, fault.New(fleet.WorkerRunning, "the worker of %s runs already", dir)
	} else if err != nil {
		return nil, err
	}
	if f.Config, err = readConfig(fsys); err != nil {
		return nil, err
	}
	seed, err := durable.ReadFile(fsys, keyFile, 4096)
	if err == nil {
		f.key, err = fleet.ParseKey(strings.TrimSpace(string(seed)))
	}
	if err != nil {
		return nil, describe("read the worker's key", err)
	}
	if f.Instance, err = f.instance(); err != nil {
		return nil, err
	}
	for _, name := range []string{attemptsDir, mirrorsDir, workDir, parcelsDir} {
		if err := durable.MkdirAll(fsys, name, 0o700); err != nil {
			return nil, err
		}
	}
	if f.Mirrors, err = fsys.Sub(mirrorsDir); err != nil {
		return nil, err
	}
	f.Spool, err = openSpool(ctx, env, filepath.Join(dir, spoolDir), f.Config.Name)
	return f, err
}

func readConfig(fsys durable.FS) (Config, error) {
	text, err := durable.ReadFile(fsys, configFile, 1<<20)
	if durable.IsAbsent(err) {
		return Config{}, fault.New(fault.NotFound, "there is no %s; join a hub first with ac worker:join", configFile)
	}
	if err != nil {
		return Config{}, err
	}
	return workspace.Decode(configCodec, configFile, text)
}

// openSpool opens the spool and creates it if it is missing.
func openSpool(ctx context.Context, env workspace.Env, dir, name string) (*workspace.Workspace, error) {
	env.LockPatience = spoolPatience
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(workspace.CompanyFile))); errors.Is(err, os.ErrNotExist) {
		if err := workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "Worker " + name}); err != nil {
			return nil, describe("make the spool", err)
		}
	}
	return workspace.Open(env, dir)
}

// instance returns a random id for this folder on this machine, and creates it once. A copy of
// the folder on another machine gets another id.
func (f *Folder) instance() (string, error) {
	machine := machineDigest(f.env.Host)
	text, err := durable.ReadFile(f.fs, instanceFile, 4096)
	if err == nil {
		drawn, on, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if drawn != "" && on == machine {
			return drawn, nil
		}
	} else if !durable.IsAbsent(err) {
		return "", err
	}
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	drawn := hex.EncodeToString(raw)
	return drawn, f.write(instanceFile, []byte(drawn+" "+machine+"\n"))
}

// machineDigest identifies the machine. If the system has no machine id, the host name takes its
// place.
func machineDigest(host string) string {
	id := host
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(file); err == nil && len(strings.TrimSpace(string(text))) > 0 {
			id = strings.TrimSpace(string(text))
			break
		}
	}
	sum := sha256.Sum256([]byte("ac worker instance\x00" + id))
	return hex.EncodeToString(sum[:])
}

// write replaces a file of the folder. The file is durable on return.
func (f *Folder) write(name string, content []byte) error {
	return namer(f.env).Write(f.fs, name, content, 0o600)
}

// hint is write without waiting for the disk.
func (f *Folder) hint(name string, content []byte) error {
	return namer(f.env).WriteUnsynced(f.fs, name, content, 0o600)
}

func namer(env workspace.Env) durable.Namer {
	return durable.Namer{PID: env.PID, UnixMS: func() int64 { return env.Clock.Now().UnixMilli() }, Random: env.IDs.Hex}
}

// link returns what the worker needs to connect.
func (f *Folder) link(tell fleet.TellHandler) fleet.WorkerLink {
	return fleet.WorkerLink{
		HubID: f.Config.HubID, WorkerID: f.Config.ID, URLs: f.Config.URLs, Fingerprint: f.Config.Fingerprint, HubKey: f.Config.HubKey, Key: f.key, Tell: tell,
	}
}

// MirrorsDir returns the absolute directory of the mirrors.
func (f *Folder) MirrorsDir() string { return f.path(mirrorsDir) }

// path returns the absolute path of a name in the folder.
func (f *Folder) path(names ...string) string {
	return filepath.Join(append([]string{f.dir}, names...)...)
}

// Close releases the folder.
func (f *Folder) Close() error {
	var errs []error
	if f.Spool != nil {
		errs = append(errs, f.Spool.Close())
	}
	if f.Mirrors != nil {
		errs = append(errs, f.Mirrors.Close())
	}
	if f.hold != nil {
		errs = append(errs, f.hold.Release())
	}
	if err := errors.Join(append(errs, f.fs.Close())...); err != nil {
		return fmt.Errorf("close %s: %w", f.dir, err)
	}
	return nil
}

// running reports whether a process of the worker is running.
func running(fsys durable.FS) (bool, error) {
	busy, err := lock.Busy(fsys, lockFile)
	if durable.IsAbsent(err) {
		return false, nil
	}
	return busy, err
}
