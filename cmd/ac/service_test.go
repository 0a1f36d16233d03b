package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestService checks the units that ac service prints: their file, their command line with an
// absolute path, and the messages of the command.
func TestService(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said, err := w.shell(t, "shop", "ac -C ../w service systemd --json --heartbeat")
	var printed struct{ Name, File, Text string }
	if err := errors.Join(err, json.Unmarshal([]byte(said), &printed)); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if printed.File != filepath.Join(w.dir, ".config/systemd/user", printed.Name+".service") {
		t.Errorf("it belongs in %s", printed.File)
	}
	_, line, _ := strings.Cut(printed.Text, "ExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	if !strings.Contains(line, `"ui:web" "`+filepath.Join(w.dir, "w")+`"`) || !strings.HasSuffix(line, `"--actor" "human" "--role" "human" "--heartbeat"`) {
		t.Errorf("ExecStart=%s", line)
	}
	if !filepath.IsAbs(strings.Trim(strings.Fields(line)[0], `"`)) {
		t.Errorf("the program is not named by its whole path: %s", line)
	}
	for command, want := range map[string]string{
		"ac service launchd --dialect autonoma 2>/dev/null": "<string>dialect:serve</string>",
		"ac service systemd 2>&1 >/dev/null":                "systemctl --user enable --now ac-web-",
		"ac service launchd 2>&1 >/dev/null":                "launchctl bootstrap gui/",
		"ac service openrc 2>&1 || true":                    `error: there is no unit for "openrc"`,
		"ac service systemd --dialect nosuch 2>&1 || true":  `error: there is no dialect "nosuch"`,
		"ac service systemd --web --dialect a 2>&1 || true": "print one for each",
	} {
		if said, err := w.shell(t, "", command); err != nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v\n%s", command, err, said)
		}
	}
}
