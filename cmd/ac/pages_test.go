package main

// Tests that run the transcripts of the pages in docs.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pagesCodex installs a scripted codex that is signed in. In a conversation it says hello; for jobs
// it writes a text, or approves one.
const pagesCodex = `cat >bin/codex <<'END'
#!/bin/sh
case "$*" in
--version*) echo codex-cli 0.45.0; exit ;;
login*) echo 'Logged in using ChatGPT'; exit ;;
*--help) echo usage; exit ;;
app-server*)
	read hello; echo '{"id":1,"result":{"userAgent":"agentcompany/1 (script)"}}'
	read initialized
	read thread; echo '{"id":2,"result":{"thread":{"id":"th"}}}'
	n=3
	while read prompt; do
		echo '{"id":'$n',"result":{"turn":{"id":"tu'$n'"}}}'
		echo '{"method":"item/completed","params":{"threadId":"th","item":{"type":"agentMessage","id":"m'$n'","text":"Hello."}}}'
		echo '{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu'$n'","status":"completed"}}}'
		n=$((n+1))
	done
	exit ;;
esac
case $(cat) in
*'Judge this'*) answer='{\"approved\":true,\"text\":\"Clear and short.\"}' ;;
*) answer='{\"text\":\"A cache answers again without asking again.\"}' ;;
esac
printf '%s\n' '{"type":"item.completed","item":{"type":"agent_message","text":"'"$answer"'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":20}}'
END
chmod 755 bin/codex
`

// pagesWorlds returns, by page, the script that prepares its transcripts. FLOW is the first YAML
// block of the page.
func pagesWorlds() map[string]string {
	const acme = `ac workspace:init acme --name Acme >/dev/null
ac project:new acme --name Site >/dev/null
`
	return map[string]string{
		"docs/dialects.md": `git init -q -b main src/site
git -C src/site -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m First
`,
		"docs/web.md": acme,
		"docs/workflows.md": acme + `ac agent:new acme --name Wes --role worker --provider codex >/dev/null
ac agent:new acme --name Mia --role manager --provider codex >/dev/null
mkdir -p acme/org/workflows/review
printf '%s' "$FLOW" >acme/org/workflows/review/refine.yaml
`,
	}
}

// TestPages runs all transcripts of all pages except the README and compares their output. Only the
// agent is scripted, and free ports replace those of the page.
func TestPages(t *testing.T) {
	t.Parallel()
	worlds := pagesWorlds()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, "../../SECURITY.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page, text := strings.TrimPrefix(filepath.ToSlash(file), "../../"), string(content)
		world, run := worlds[page]
		if blocks := len(consoles(text)); (blocks > 0) != run {
			t.Errorf("%s has %d transcripts: pagesWorlds does not say what they begin with", page, blocks)
		}
		if run {
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				runPage(t, text, world)
			})
		}
	}
}

// runPage runs the transcripts of a page in one shell, in a world of its own.
func runPage(t *testing.T, text, world string) {
	var steps []step
	for _, block := range consoles(text) {
		steps = append(steps, block...)
	}
	programs := []string{"grep", "sleep", "chmod", "ls", "rm", "seq"}
	if strings.Contains(text, "$ curl") {
		programs = append(programs, "curl", "jq")
	}
	shell := readmeShell(t, programs...)
	script := "set -e\n" + pagesCodex
	if flow := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindStringSubmatch(text); flow != nil {
		script += "FLOW='" + flow[1] + "'\n"
	}
	script += world + "set +e\nprintf '\\036'\n"
	for _, s := range steps {
		script += pageCommand(s) + "\nprintf '\\036'\n"
	}
	// The sessions of conversations outlive their daemon.
	said, err := shell("", script+"if [ -d acme ]; then ac session:stop acme --all >/dev/null; fi\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	passing := regexp.MustCompile(`(?m)^.* (queued|running)\n`) // transient states
	printed := strings.Split(said, "\x1e")[1:]
	for i, s := range steps {
		got, want := passing.ReplaceAllString(printed[i], ""), passing.ReplaceAllString(s.prints, "")
		if got, want := sameEverywhere(got), sameEverywhere(want); got != want {
			t.Errorf("$ %s\n%s\nthe page has\n%s", s.command, got, want)
		}
	}
}

// pageCommand returns the shell command of a step, with the project's id and a free port. It stops
// a server once it listens. It repeats curl until the output matches, since agents take time.
func pageCommand(s step) string {
	line := strings.NewReplacer(`"proj_…"`, `"'$(ls acme/work/projects)'"`, "proj_…", "$(ls acme/work/projects)", "http://127.0.0.1:28080/", "${URL}").Replace(s.command)
	free := " --listen 127.0.0.1:0"
	switch {
	case strings.HasPrefix(line, "ac dialect:start"):
		return line + free + ` >started; cat started; URL=$(cut -d ' ' -f 3 started)`
	case strings.HasPrefix(line, "ac ui:web"):
		free = " --port 0"
		fallthrough
	case strings.HasPrefix(line, "ac dialect:serve"):
		return "rm -f served\n" + line + free + ` >served & SERVER=$!
while kill -0 $SERVER && ! grep -q Ctrl served 2>/dev/null; do sleep 0.05; done
cat served; kill $SERVER; wait $SERVER`
	case strings.HasPrefix(line, "curl"):
		return "for i in $(seq 200); do SAID=$(" + line + "); if [ \"$SAID\" = '" + strings.TrimSpace(s.prints) + "' ]; then break; fi; sleep 0.05; done; echo \"$SAID\""
	}
	return line
}
