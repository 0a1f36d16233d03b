package provider

// Probes: short calls of a provider's program that ask it about itself.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"ac/internal/proc"
	"ac/redact"
)

const (
	// probeLimit bounds a question for an ability, aboutLimit one for version
	// or help.
	probeLimit = 4 * time.Second
	aboutLimit = 3500 * time.Millisecond
	// maxProbeOutput bounds what is kept of an answer.
	maxProbeOutput = 1 << 20
)

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxProbeOutput - b.text.Len(); room > 0 {
		b.text.Write(p[:min(room, len(p))])
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
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environ, &stdout, &stderr
	cmd.SysProcAttr = proc.NewGroup()
	cmd.Cancel = func() error { return proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = limit / 8
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it exited; something it started holds its output
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

// Schemas knows which programs accept a JSON Schema for their answer. Each is
// asked once in the life of a Schemas, which is safe for concurrent use.
type Schemas struct {
	mu    sync.Mutex
	known map[string]bool
}

// Taken reports whether a program accepts a schema, asking it where that is not
// known yet.
func (s *Schemas) Taken(ctx context.Context, cli CLI, program string, environ []string) bool {
	args, word := cli.SchemaProbe()
	if word == "" {
		return false
	}
	s.mu.Lock()
	taken, known := s.known[program]
	s.mu.Unlock()
	if known {
		return taken
	}
	a := ask(ctx, environ, probeLimit, program, args...)
	taken = strings.Contains(a.stdout+a.stderr, word)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[program] = taken
	return taken
}
