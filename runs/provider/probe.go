package provider

// Probes: short calls of a provider's program that ask it about itself.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"ac/internal/proc"
	"ac/internal/redact"
)

const (
	// probeLimit bounds a question about a login or a command, aboutLimit one for
	// version, help or abilities: some CLIs need seconds to say anything.
	probeLimit = 4 * time.Second
	aboutLimit = 20 * time.Second
	// maxProbeOutput bounds what is kept of an answer.
	maxProbeOutput = 1 << 20
)

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu   sync.Mutex
	text bytes.Buffer
	// enough is asked after each write, and done called once it says so.
	enough func([]byte) bool
	done   func()
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxProbeOutput - b.text.Len(); room > 0 {
		b.text.Write(p[:min(room, len(p))])
	}
	if b.enough != nil && b.enough(b.text.Bytes()) {
		b.enough = nil
		b.done()
	}
	return len(p), nil
}

// answer is what a probe gave.
type answer struct {
	stdout, stderr string
	ok             bool // it exited with 0 in time
}

// ask runs a program with a bound on its time; everything it started is killed
// at the end of that. What it says of the secrets of its environment is masked.
func ask(ctx context.Context, environ []string, limit time.Duration, program string, args ...string) answer {
	return askWith(ctx, environ, limit, "", nil, program, args...)
}

// askWith is ask for a program that reads something and then waits for more: its
// input ends once enough says that it has answered.
func askWith(ctx context.Context, environ []string, limit time.Duration, input string, enough func([]byte) bool, program string, args ...string) answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, &stdout, &stderr
	cmd.SysProcAttr = proc.NewGroup()
	cmd.Cancel = func() error { return proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = limit / 8
	if enough != nil {
		in, err := cmd.StdinPipe()
		if err != nil {
			return answer{stderr: err.Error()}
		}
		stdout.enough, stdout.done = enough, func() { _ = in.Close() } // closed already is closed
		go func() { _, _ = io.WriteString(in, input) }()               // ends with the pipe, which the end of the program closes
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it exited; something it started holds its output
	}
	if err != nil && cmd.Process == nil {
		return answer{stderr: err.Error()}
	}
	secrets := redact.FromEnviron(environ)
	return answer{secrets.String(stdout.text.String()), secrets.String(stderr.text.String()), err == nil}
}

// Provenance is where an attempt's words come from: the program and what it
// says of itself. Null is what it did not say.
type Provenance struct {
	Provider     string  `json:"provider"`
	ProviderBin  string  `json:"provider_bin"`
	Version      *string `json:"provider_version"`
	HelpHash     *string `json:"provider_help_hash"`
	OutputFormat *string `json:"output_format"`
}

// About asks a program for its version and its help, side by side.
func About(ctx context.Context, provider, program string, environ []string) Provenance {
	p := Provenance{Provider: provider, ProviderBin: program}
	var version, help answer
	var group sync.WaitGroup
	group.Go(func() { version = ask(ctx, environ, aboutLimit, program, "--version") })
	group.Go(func() { help = ask(ctx, environ, aboutLimit, program, "--help") })
	group.Wait()
	first, _, _ := strings.Cut(strings.TrimSpace(version.stdout+version.stderr), "\n")
	if first = strings.TrimSpace(first); first != "" {
		p.Version = &first
	}
	if text := strings.TrimSpace(help.stdout + "\n" + help.stderr); text != "" {
		sum := sha256.Sum256([]byte(text))
		p.HelpHash = new(hex.EncodeToString(sum[:]))
	}
	return p
}

// Abilities are what a program says that it takes.
type Abilities struct {
	Schema bool `json:"schema"`  // a JSON Schema for its answer
	Stream bool `json:"stream"`  // it can print what it does as it goes on
	NoRuns bool `json:"no_runs"` // its tools that run commands can be switched off
}

// AbilityWords are the words of a program's help that tell that it has an
// ability; "" for one that it never has, or always.
type AbilityWords struct{ Schema, Stream, NoRuns string }

// AbilitiesOf asks a program what it takes. answered is false when it did not say
// anything, which denies nothing.
func AbilitiesOf(ctx context.Context, cli CLI, program string, environ []string) (able Abilities, answered bool) {
	args, words := cli.Abilities()
	a := ask(ctx, environ, aboutLimit, program, args...)
	text := a.stdout + a.stderr
	has := func(word string) bool { return word != "" && strings.Contains(text, word) }
	return Abilities{Schema: has(words.Schema), Stream: has(words.Stream), NoRuns: has(words.NoRuns)}, a.ok && strings.TrimSpace(text) != ""
}
