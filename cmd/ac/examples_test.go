package main

// Tests that run the examples in the help of the short commands.

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/cmd/ac/cli"
	"ac/internal/proc/proctest"
	"ac/internal/terminal"
)

// exampleWorld creates the workspace that the examples refer to. Their run 4WKKE6 stands for its
// newest run, which changed a file in a worktree. Ann's provider binary is /bin/sh: called as
// "codex app-server" would be, it runs the script app-server, which speaks that protocol.
const exampleWorld = `set -e
git init -q -b main shop
cd shop
mkdir client
echo 1 >client/a.txt
cat >app-server <<'END'
read hello; echo '{"id":1,"result":{"userAgent":"agentcompany/1 (script)"}}'
read initialized
read thread; echo '{"id":2,"result":{"thread":{"id":"th"}}}'
n=3
while read prompt; do
	echo '{"id":'$n',"result":{"turn":{"id":"tu'$n'"}}}'
	echo '{"method":"item/completed","params":{"threadId":"th","item":{"type":"agentMessage","id":"m'$n'","text":"The notes are written."}}}'
	echo '{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu'$n'","status":"completed"}}}'
	n=$((n+1))
done
END
git config user.name A
git config user.email a@example.org
git add .
git commit -q -m First
git branch next
cd ..
ac workspace:init w --name Acme
P=$(ac -C w projects add Checkout)
ac team:new w --name Payments
ac agent:new w --name Ann --role worker --provider codex_app_server
ac agent:new w --name Shell --role worker --provider cmd
ac machine:set-provider-bin w --provider codex_app_server --path /bin/sh
ac machine:allow-model-host w models.example:8443
ac terminal:shells w
ac machine:set-repo w --repo shop --path shop
ac rpc:call --method workspace.project.link_repo --params '{"workspace_dir":"w","project_id":"'$P'","repo_id":"shop"}'
T=$(ac task:new w --project $P --title 'Fix the flaky test' --assignee Ann)
ac task:add-milestone w --project $P --task $T --title M1 --kind coding --status ready --accept done
M=$(ac rpc:call --method task.list --params '{"workspace_dir":"w","project_id":"'$P'"}' | grep -o 'ms_[0-9A-Z]\{26\}' | head -1)
R=$(ac run:new w --project $P --agent Ann --provider cmd | grep -o 'run_[0-9A-Z]\{26\}')
S=$(ac rpc:call --method session.launch --params '{"workspace_dir":"w","project_id":"'$P'","run_id":"'$R'","repo_id":"shop","task_id":"'$T'","milestone_id":"'$M'","argv":["sh","-c","echo built; echo 2 >>client/a.txt"]}' | cut -d '"' -f 4)
ac rpc:call --method session.collect --params '{"workspace_dir":"w","session_ref":"'$S'"}'
cd w
printf %s "$R" >../run
`

// notHere returns the short commands that these tests skip, with the reason.
func notHere() map[string]string { return map[string]string{} }

// notRun returns prefixes of examples that need a terminal, a live agent or a signal to end. Each
// of these commands has another example that runs, or a test in tmux_test.go.
func notRun() []string {
	return []string{
		"ac web", "ac attach", "ac watch", "ac say --run", "ac continue", "ac answer", "ac init ~/acme", "ac land --undo", "ac top",
	}
}

// world is a workspace with everything that the examples refer to.
type world struct {
	dir string // holds the workspace w, the repository shop, and the program in bin
	run string // the id of the newest run
	env []string
}

// newWorld creates the world of the short commands.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	if said, err := w.shell(t, "", exampleWorld); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	run, err := os.ReadFile(filepath.Join(w.dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	w.run = string(run)
	w.env = append(w.env, "AC_WORKSPACE="+filepath.Join(w.dir, "w"), "AC_PROJECT=Checkout")
	return w
}

// emptyWorld creates a world with only the program, and no workspace. It skips the test if git or
// bash is missing.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: the commands need %s, which is not installed", program)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: t.TempDir()}
	bin := filepath.Join(w.dir, "bin")
	made := "#!/bin/sh\necho ok\n"
	if err := errors.Join(os.Mkdir(bin, 0o755), os.Symlink(self, filepath.Join(bin, "ac")), proctest.WriteProgram(filepath.Join(bin, "make"), []byte(made))); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+w.dir, "TMPDIR="+w.dir, "XDG_STATE_HOME="+w.dir,
		"AC_WORKSPACE=", "AC_PROJECT=", "AC_ACTOR=", "AC_RUN=", "NO_COLOR=", "LC_ALL=C.UTF-8", "GORACE=atexit_sleep_ms=0")
	return w
}

// shell runs a command line in a folder and returns what it prints.
func (w *world) shell(t *testing.T, at, line string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-c", line) // cleanups run after it is canceled
	cmd.Dir, cmd.Env = filepath.Join(w.dir, at), w.env
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// proposal creates a memory proposal to decide on, and returns the ending of its id.
func (w *world) proposal(t *testing.T) string {
	t.Helper()
	said, err := w.shell(t, "", `ac memory:delta w --project Checkout --under '## Decisions' --by Ann --run run_x --ctx ctx_x --visibility org --title Cuts --insert '- On Tuesdays' 2>/dev/null | grep -o 'art_[0-9A-Z]\{26\}' | head -1 | tail -c 7`)
	if err != nil || strings.TrimSpace(said) == "" {
		t.Fatalf("%v\n%s", err, said)
	}
	return strings.TrimSpace(said)
}

// TestExamplesOfShortCommands runs every example in the help of every short command.
func TestExamplesOfShortCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := strings.NewReplacer("4WKKE6", w.run[len(w.run)-cli.ShownEnding:], "~/.config/fish/completions/", w.dir+"/")
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if !cli.IsShort(cmd) {
			continue
		}
		lines := strings.Split(cmd.Example, "\n")
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if words := strings.Fields(line); !slices.Contains(words, cmd.Name()) {
				t.Errorf("the example %q is not about ac %s", line, cmd.Name())
			}
			if _, elsewhere := notHere()[cmd.Name()]; elsewhere {
				continue
			}
			if slices.ContainsFunc(notRun(), func(begin string) bool { return strings.HasPrefix(line, begin) }) {
				continue
			}
			for _, id := range []string{"B8N4WE", "M0C2P7"} {
				if strings.Contains(line, id) {
					line = strings.ReplaceAll(line, id, w.proposal(t))
				}
			}
			// Each example starts with a clean work tree: one of them applies a patch.
			if said, err := w.shell(t, "shop", "git checkout -q .; "+names.Replace(line)); err != nil {
				t.Errorf("%s: %v\n%s", line, err, said)
			}
		}
	}
}

// TestOverview checks that the program's help fits 16 lines of 80 columns, and that
// "ac help --all" lists every available command.
func TestOverview(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	text := overview(root)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 16 {
		t.Errorf("the overview has %d lines", len(lines))
	}
	for _, line := range lines {
		if terminal.Columns(line) > 80 {
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && !strings.Contains(allCommands(root), "\n  "+cmd.Name()+" ") {
			t.Errorf("ac help --all does not list %s", cmd.Name())
		}
	}
}
