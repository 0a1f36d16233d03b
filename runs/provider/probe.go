package provider

// Probes: short, time-limited queries of a provider's program.

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
	// probeLimit bounds queries about a login or a command. aboutLimit bounds queries about
	// version, help or abilities, for which some CLIs need seconds.
	probeLimit = 4 * time.Second
	aboutLimit = 20 * time.Second
	// maxProbeOutput bounds the retained output, in bytes for each stream.
	maxProbeOutput = 1 << 20
)

// bounded retains the first maxProbeOutput bytes of what is written to it and discards the rest.
type bounded struct {
	mu   sync.Mutex
	text bytes.Buffer
	// enough is called after each write until it returns true. bounded then calls done, once.
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

// answer is the result of a probe.
type answer struct {
	stdout, stderr string
	ok             bool // it exited with 0 in time
	late           bool // it was killed at its time limit
}

// ask runs a program with a time limit and kills its process group at the limit. It masks
// secrets of environ in the output.
func ask(ctx context.Context, environ []string, limit time.Duration, program string, args ...string) answer {
	return askWith(ctx, environ, limit, "", nil, program, args...)
}

// askWith is ask for a program that reads input and then waits for more. askWith closes the
// program's input once enough returns true.
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
		stdout.enough, stdout.done = enough, func() { _ = in.Close() } // closing twice is harmless
		go func() { _, _ = io.WriteString(in, input) }()               // ends when the program does
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program exited, but a descendant holds its output open
	}
	if err != nil && cmd.Process == nil {
		return answer{stderr: err.Error()}
	}
	secrets := redact.FromEnviron(environ)
	return answer{
		stdout: secrets.String(stdout.text.String()), stderr: secrets.String(stderr.text.String()),
		ok: err == nil, late: err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded),
	}
}

// Provenance describes the program that produced an attempt's output. A null field means that
// the program did not report it.
type Provenance struct {
	Provider     string  `json:"provider"`
	ProviderBin  string  `json:"provider_bin"`
	Version      *string `json:"provider_version"`
	HelpHash     *string `json:"provider_help_hash"`
	OutputFormat *string `json:"output_format"`
}

// About queries a program's version and help, concurrently.
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

// Abilities are the features that a program's help lists.
type Abilities struct {
	Schema bool `json:"schema"`  // accepts a JSON Schema for its answer
	Stream bool `json:"stream"`  // can stream its progress
	NoRuns bool `json:"no_runs"` // can disable its command tools
}

// AbilityWords are the words in a program's help that indicate an ability. A word is "" if the
// help cannot indicate it.
type AbilityWords struct{ Schema, Stream, NoRuns string }

// AbilitiesOf queries a program's abilities. answered is false if the query failed or printed
// nothing, which proves nothing.
func AbilitiesOf(ctx context.Context, cli CLI, program string, environ []string) (able Abilities, answered bool) {
	args, words := cli.Abilities()
	a := ask(ctx, environ, aboutLimit, program, args...)
	text := a.stdout + a.stderr
	has := func(word string) bool { return word != "" && strings.Contains(text, word) }
	return Abilities{Schema: has(words.Schema), Stream: has(words.Stream), NoRuns: has(words.NoRuns)}, a.ok && strings.TrimSpace(text) != ""
}
