package servers

// Tests of service units, with the programs or parsers that read them.

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/internal/proc/proctest"
)

// awkward returns a service with words that contain special characters of unit formats.
func awkward() *unit {
	return &unit{
		name: "ac-web-da62j9", about: "the control room of 100% <Checkout> & more", path: "/opt/a b/bin:/usr/bin", home: "/home/o'neil & sons",
		argv: []string{"/opt/my tools/$1/ac", "ui:web", `/src/100% "done" $HOME \o/ <&>/.ac`, "--project", "proj_x"},
	}
}

func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	const want = `[Unit]
Description=ac: the control room of 100%% <Checkout> & more

[Service]
Type=exec
Environment="PATH=/opt/a b/bin:/usr/bin"
ExecStart="/opt/my tools/$1/ac" "ui:web" "/src/100%% \"done\" $$HOME \\o/ <&>/.ac" "--project" "proj_x"
KillMode=process
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
`
	if got := awkward().systemd(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSystemdTakesTheUnit checks that systemd-analyze accepts the unit without a warning about it.
func TestSystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED: systemd-analyze is not installed")
	}
	dir := t.TempDir()
	u, program := awkward(), filepath.Join(dir, "my tools % 1")
	if err := proctest.WriteProgram(program, []byte("#!/bin/sh\n")); err != nil {
		t.Fatal(err)
	}
	u.argv[0] = program
	file := filepath.Join(dir, u.name+".service")
	if err := os.WriteFile(file, []byte(u.systemd()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", "--generators=no", file)
	said, err := cmd.CombinedOutput()
	if mentioned := strings.Contains(string(said), u.name); err != nil || mentioned {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestLaunchdUnit parses the property list and checks its keys and values.
func TestLaunchdUnit(t *testing.T) {
	t.Parallel()
	u := awkward()
	var list struct {
		XMLName xml.Name `xml:"plist"`
		Dict    struct {
			Keys    []string `xml:"key"`
			Strings []string `xml:"string"`
			Program []string `xml:"array>string"`
			Dicts   []struct {
				Key    string    `xml:"key"`
				String string    `xml:"string"`
				False  *struct{} `xml:"false"`
			} `xml:"dict"`
			True []struct{} `xml:"true"`
		} `xml:"dict"`
	}
	text := u.launchd()
	if err := xml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	d := list.Dict
	keys := []string{"Label", "ProgramArguments", "EnvironmentVariables", "RunAtLoad", "KeepAlive", "AbandonProcessGroup", "StandardErrorPath"}
	if !slices.Equal(d.Keys, keys) || len(d.Strings)+1+len(d.Dicts)+len(d.True) != len(keys) {
		t.Errorf("keys %q with other values:\n%s", d.Keys, text)
	}
	if !slices.Equal(d.Program, u.argv) || !slices.Equal(d.Strings, []string{u.name, u.home + "/Library/Logs/" + u.name + ".log"}) {
		t.Errorf("%q, %q", d.Program, d.Strings)
	}
	if len(d.Dicts) != 2 || d.Dicts[0].String != u.path || d.Dicts[1].Key != "SuccessfulExit" || d.Dicts[1].False == nil {
		t.Errorf("%+v", d.Dicts)
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnitsHoldNoControlCharacters(t *testing.T) {
	t.Parallel()
	u := awkward()
	u.about = "two\nlines"
	if err := u.check(); err != nil || u.about != "two lines" {
		t.Errorf("%q: %v", u.about, err)
	}
	u.argv[2] = "/src/a\nExecStartPost=rm"
	if err := u.check(); err == nil {
		t.Error("a path of two lines is taken")
	}
}
