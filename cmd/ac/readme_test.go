package main

// Tests that run the transcripts of the README.

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/internal/proc/proctest"
)

// scriptedCodex is a script that acts as a signed-in Codex CLI and changes one file.
const scriptedCodex = `#!/bin/sh
case "$1 $2" in
--version*) echo codex-cli 0.45.0; exit ;;
login*) echo Logged in; exit ;;
"app-server --help") exit ;;
esac
read hello; echo '{"id":1,"result":{"userAgent":"agentcompany/1 (script)"}}'
read initialized
read thread; echo '{"id":2,"result":{"thread":{"id":"th"}}}'
n=3
while read prompt; do
	echo '{"id":'$n',"result":{"turn":{"id":"tu'$n'"}}}'
	printf 'func TestRetry(t *testing.T) { waitFor(timer) }\n' >client/retry_test.go
	echo '{"method":"item/completed","params":{"threadId":"th","item":{"type":"agentMessage","id":"m'$n'","text":"The retry raced with the clock; it waits for the timer now."}}}'
	echo '{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu'$n'","status":"completed"}}}'
	n=$((n+1))
done
`

// readmeRepository creates the repository in which the first transcript starts.
const readmeRepository = `set -e
git init -q -b main shop
cd shop
git config user.name A
git config user.email a@example.org
mkdir client
printf 'func TestRetry(t *testing.T) { sleep(1) }\n' >client/retry_test.go
git add .
git commit -q -m First
`

// step is a command of a transcript and its output.
type step struct{ command, prints string }

// transcriptIn returns the steps between two marks of a page.
func transcriptIn(t *testing.T, page, mark string) []step {
	t.Helper()
	_, text, _ := strings.Cut(page, "<!-- "+mark+" -->")
	text, _, _ = strings.Cut(text, "<!-- /"+mark+" -->")
	blocks := consoles(text)
	if len(blocks) != 1 {
		t.Fatalf("the README has no transcript %s", mark)
	}
	return blocks[0]
}

// consoles returns the steps of each transcript in a text.
func consoles(text string) (blocks [][]step) {
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		var steps []step
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, step{command: strings.TrimSpace(command)})
			} else {
				steps[len(steps)-1].prints += line
			}
		}
		blocks = append(blocks, steps)
	}
	return blocks
}

// sameEverywhere replaces what differs between runs: ids, times, hashes, offsets and addresses. It
// also removes trailing spaces.
func sameEverywhere(text string) string {
	for _, r := range []struct{ from, to string }{
		{`20\d\d-\d\d-\d\dT[0-9:.]+Z`, "TIME"}, {`[0-9A-HJKMNP-TV-Z]{26}`, "ULID"}, {`\b[0-9A-HJKMNP-TV-Z]{6}\b`, "ENDING"},
		{`\b[0-9a-f]{64}\b`, "HASH"}, {`\b(as|revert) [0-9a-f]{7}\b`, "$1 COMMIT"}, {`\b\d+(\.\d+)?s\b`, "TOOK"}, {`byte \d+`, "byte N"},
		{`127\.0\.0\.1:\d+`, "ADDRESS"}, {` +(\n|$)`, "$1"},
	} {
		text = regexp.MustCompile(r.from).ReplaceAllString(text, r.to)
	}
	return text
}

// TestReadme runs the transcripts of the README and compares their output. Only the agent is
// scripted.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	for _, c := range []struct{ mark, before, at string }{{"three", readmeRepository, "shop"}, {"plumbing", "", ""}} {
		t.Run(c.mark, func(t *testing.T) {
			t.Parallel()
			shell := readmeShell(t)
			if said, err := shell("", c.before); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			var script strings.Builder
			steps := transcriptIn(t, string(readme), c.mark)
			steps = slices.DeleteFunc(steps, func(s step) bool { // skip commands that do not exist yet
				words := strings.Fields(s.command)
				return words[0] == "ac" && !slices.ContainsFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.Name() == words[1] })
			})
			for _, s := range steps {
				if strings.Contains(s.command, "run:new") {
					s.command = "OUT=$(" + s.command + `); echo "$OUT"; RUN=$(echo "$OUT" | cut -d '"' -f 4)`
				}
				script.WriteString(s.command + "\nSTATUS=$?; printf '\\036'; (exit $STATUS)\n")
			}
			said, err := shell(c.at, script.String())
			if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
				t.Fatal(err)
			}
			printed := strings.Split(said, "\x1e")
			for i, s := range steps {
				if got, want := sameEverywhere(printed[i]), sameEverywhere(s.prints); got != want {
					t.Errorf("$ %s\n%s\nthe README has\n%s", s.command, got, want)
				}
			}
		})
	}
}

// readmeShell returns a function that runs a script in a folder. PATH has only the programs that
// the transcripts need.
func readmeShell(t *testing.T, programs ...string) func(at, script string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	err = errors.Join(os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, "ac")), proctest.WriteProgram(filepath.Join(bin, "codex"), []byte(scriptedCodex)))
	for _, program := range append([]string{"bash", "sh", "git", "sed", "cut", "cat", "mkdir"}, programs...) {
		path, missing := exec.LookPath(program)
		if missing != nil {
			t.Skipf("SKIPPED: the transcripts need %s, which is not installed", program)
		}
		err = errors.Join(err, os.Symlink(path, filepath.Join(bin, program)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(at, script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "exec 2>&1\n"+script)
		cmd.Dir = filepath.Join(dir, at)
		cmd.Env = []string{"PATH=" + bin, "HOME=" + dir, "TMPDIR=" + dir, "XDG_STATE_HOME=" + dir, "LC_ALL=C.UTF-8", asProgram + "=1", "GORACE=atexit_sleep_ms=0"}
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
}
