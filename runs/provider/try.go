package provider

// Trying an adapter: running the command line of a run up to the point at which the program
// would call its model.

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"

	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

// Probe is the cached result of trying an adapter.
type Probe struct {
	OK bool `json:"ok"`
	// Detail is the program's own error message.
	Detail string `json:"detail,omitempty"`
	// Version is the version that the program reports, "" if it reports none.
	Version string `json:"version,omitempty"`
	// Resume reports whether the program can resume a conversation.
	Resume bool `json:"resume"`
}

// maxDetail bounds a probe's Detail, in bytes.
const maxDetail = 300

// try queries an adapter's program for its version and, if ac could use it, for its ability to
// resume. It also runs the command line of a run without a prompt. The program then exits before
// it calls a model. All queries run concurrently.
func (a *Adapter) try(ctx context.Context, program string, environ []string) Probe {
	var version, help, run answer
	var group sync.WaitGroup
	group.Go(func() { version = ask(ctx, environ, aboutLimit, program, "--version") })
	if a.Capabilities.ResumableSession {
		group.Go(func() { help = ask(ctx, environ, aboutLimit, program, "exec", "--help") })
	}
	group.Go(func() {
		if a.Mode == protocolMode {
			run = askWith(ctx, environ, aboutLimit, handshake(), threadAnswered, program, "app-server")
			return
		}
		run = ask(ctx, environ, aboutLimit, program, a.emptyRun(program)...)
	})
	group.Wait()
	p := Probe{Resume: strings.Contains(help.stdout+help.stderr, "resume")}
	p.Version, _, _ = strings.Cut(strings.TrimSpace(version.stdout+version.stderr), "\n")
	p.OK, p.Detail = a.evaluate(run)
	return p
}

// emptyRun returns the arguments of a read-only run without a prompt.
func (a *Adapter) emptyRun(program string) []string {
	cli, err := CLIOf(a.Provider)
	if err != nil {
		return nil
	}
	call, err := cli.ForWork(Work{Program: program, Level: ReadOnly, Stream: true, Trusted: true})
	if err != nil {
		return nil
	}
	return call.Argv[1:]
}

// handshake returns the requests that precede the first turn of an app server. The thread is
// ephemeral.
func handshake() string {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	text, _ := json.Marshal(dir) // a string always encodes
	return `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"agentcompany","version":"probe"},"capabilities":null}}` + "\n" +
		`{"method":"initialized"}` + "\n" +
		`{"id":2,"method":"thread/start","params":{"model":null,"cwd":` + string(text) + `,"approvalPolicy":"never","sandbox":"read-only","ephemeral":true}}` + "\n"
}

// wantsPrompt matches the error messages of programs that lack only a prompt.
var wantsPrompt = lazyregexp.New(`(?i)no (prompt|input) provided|(input|prompt) must be provided`)

// evaluate evaluates the answer to a command line without a prompt. A program that asks for a
// prompt has accepted everything else. For an app server, taken checks the answer to
// thread/start.
func (a *Adapter) evaluate(run answer) (ok bool, detail string) {
	if a.Mode == protocolMode {
		for line := range strings.Lines(run.stdout) {
			var m struct {
				ID     int             `json:"id"`
				Result json.RawMessage `json:"result"`
				Error  struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.ID == 2 {
				return len(m.Result) > 0, cut(m.Error.Message)
			}
		}
		return false, cut("thread/start was not answered: " + lastLine(run.stderr))
	}
	if run.ok || wantsPrompt().MatchString(run.stdout+run.stderr) {
		return true, ""
	}
	return false, cut(lastLine(run.stdout + "\n" + run.stderr))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func cut(text string) string {
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "")
	}
	return text
}

// Prober finds out which agent CLIs a machine has and whether they work. It caches answers by
// the program's path, size and mtime. It is safe for concurrent use.
type Prober struct {
	Cache Cache
	// Run starts a probe, which may outlive the query. The owner of Run waits for the probe and
	// cancels its context. The next query finds the probe's result in the cache.
	Run func(probe func(context.Context))
	// Patience is how long Status waits for probes.
	Patience time.Duration
}

// Status checks all adapters, concurrently. It does not execute programs without an approved
// name. If a probe takes longer than Patience, Status returns its adapter without a result.
func (p Prober) Status(ctx context.Context, machine doc.Machine) []Adapter {
	all := adapters()
	programs := make([]Program, len(all))
	var looking sync.WaitGroup
	for i := range all {
		looking.Go(func() { programs[i] = all[i].findProgram(ctx, machine, p.Cache.Environ) })
	}
	looking.Wait()
	type found struct {
		at    int
		probe Probe
	}
	probes, waiting := make(chan found, len(all)), 0
	for i, adapter := range all {
		if adapter.Available {
			waiting++
			p.Run(func(ctx context.Context) { probes <- found{i, p.Cache.probe(ctx, adapter, programs[i].Path)} })
		}
	}
	limit := time.NewTimer(p.Patience)
	defer limit.Stop()
	for ; waiting > 0; waiting-- {
		select {
		case f := <-probes:
			all[f.at].learn(f.probe)
		case <-limit.C:
			return all
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// StatusWithin is Status for a one-shot call: no probe outlives it.
func StatusWithin(ctx context.Context, machine doc.Machine, cache Cache, patience time.Duration) []Adapter {
	ctx, cancel := context.WithCancel(ctx)
	var probes sync.WaitGroup
	defer probes.Wait()
	defer cancel()
	p := Prober{Cache: cache, Patience: patience, Run: func(probe func(context.Context)) { probes.Go(func() { probe(ctx) }) }}
	return p.Status(ctx, machine)
}

// learn copies the result of a probe into the adapter.
func (a *Adapter) learn(p Probe) {
	f, _ := familyOf(Driver(a.Provider))
	a.Version, a.TriedWith = p.Version, f.triedWith
	a.Probe = &TryResult{OK: p.OK, Detail: p.Detail}
	a.Capabilities.ResumableSession = a.Capabilities.ResumableSession && p.Resume
}

// probe is try with a cache.
func (c Cache) probe(ctx context.Context, a Adapter, program string) Probe {
	known, ok := c.load(program, "probe "+a.Name)
	if ok && known.Probe != nil {
		return *known.Probe
	}
	p := a.try(ctx, program, c.Environ)
	if ok && p.OK && ctx.Err() == nil {
		known.Probe = &p
		c.store(known, "probe "+a.Name)
	}
	return p
}

// threadAnswered reports whether an app server has answered thread/start, the last request of
// the handshake.
func threadAnswered(stdout []byte) bool { return bytes.Contains(stdout, []byte(`{"id":2,`)) }
