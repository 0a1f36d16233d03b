package servers

// ac service: printing a service unit that keeps the control room or a dialect running.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/internal/xmltext"
)

// serviceOptions holds the options of ac service.
type serviceOptions struct {
	web, heartbeat bool
	dialects       string
}

// unit is a service unit: a program that the service manager keeps running. Its strings contain no
// control characters, and its paths are absolute.
type unit struct {
	name  string   // name for the service manager, without file extension
	about string   // description for people
	argv  []string // the program and its arguments
	path  string   // PATH, used to find agent programs
	home  string
	// account is the user of a system unit, "" for a user unit.
	account string
}

// serviceText is the JSON output of ac service.
type serviceText struct {
	Name string `json:"name"`
	File string `json:"file"` // path where to put the text
	Text string `json:"text"`
}

func serviceCommand(a *cli.App) *cobra.Command {
	var o serviceOptions
	cmd := &cobra.Command{
		Use: "service <system>", Short: "Print a unit that keeps the control room running", Args: cli.Args("system"),
		Long: `Print a unit of your own, for systemd or launchd, that serves the control room of the
project, or with --dialect the protocols of other programs. Where to put it and how to start
it stands on stderr; nothing is installed.

Runs go on when the unit is stopped or restarted. It finds agent programs by the PATH of now.`,
		Example:   "  ac service systemd\n  ac service launchd --dialect autonoma --heartbeat",
		ValidArgs: []string{"systemd", "launchd"},
	}
	a.Short(cmd, func(c *cli.Call, given []string) error { return printService(c, given[0], o) })
	flags := cmd.Flags()
	flags.BoolVar(&o.web, "web", false, "serve the control room; that is the default")
	flags.StringVar(&o.dialects, "dialect", "", "serve these dialects instead, with commas between")
	flags.BoolVar(&o.heartbeat, "heartbeat", false, "let the heartbeat of the workspace tick as long as it serves")
	return cmd
}

func printService(c *cli.Call, system string, o serviceOptions) error {
	if system != "systemd" && system != "launchd" {
		return cli.UsageError{Message: fmt.Sprintf("there is no unit for %q; there is one for: systemd, launchd", system)}
	}
	u, err := newUnit(c, o)
	if err != nil {
		return err
	}
	text := serviceText{Name: u.name, File: filepath.Join(u.home, ".config/systemd/user", u.name+".service"), Text: u.systemd()}
	start := "systemctl --user daemon-reload && systemctl --user enable --now " + u.name + "; to go on after logging out: loginctl enable-linger"
	if system == "launchd" {
		text.File, text.Text = filepath.Join(u.home, "Library/LaunchAgents", u.name+".plist"), u.launchd()
		start = fmt.Sprintf("launchctl bootstrap gui/%d '%s'", os.Getuid(), text.File)
	}
	if c.AsJSON {
		return c.PrintJSON(text)
	}
	c.Note("put it in %s", text.File)
	c.Note("start it: %s", start)
	_, err = fmt.Fprint(c.Stdout, text.Text)
	return err
}

// newUnit returns the unit for the context of a call.
func newUnit(c *cli.Call, o serviceOptions) (*unit, error) {
	if o.web && o.dialects != "" {
		return nil, cli.UsageError{Message: "a unit is for --web or for --dialect; print one for each"}
	}
	if err := c.RequireProject(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	ending := strings.ToLower(cli.ShortID(c.Project))
	u := &unit{name: "ac-web-" + ending, about: "the control room of " + c.ProjectName + ", " + c.Company, path: os.Getenv("PATH"), home: home}
	if o.dialects == "" {
		u.argv = []string{c.Executable, "ui:web", dir, "--project", c.Project, "--actor", c.Actor, "--role", c.Role}
	} else {
		if err := checkDialects(o.dialects); err != nil {
			return nil, err
		}
		u.name, u.about = "ac-dialect-"+ending, o.dialects+" for "+c.ProjectName+", "+c.Company
		u.argv = []string{c.Executable, "dialect:serve", o.dialects, dir, "--project", c.Project, "--as", c.Actor, "--role", c.Role}
	}
	if c.Team != "" {
		u.argv = append(u.argv, "--team", c.Team)
	}
	if o.heartbeat {
		u.argv = append(u.argv, "--heartbeat")
	}
	return u, u.check()
}

// check refuses control characters, which units cannot contain. It replaces those of about with
// blanks.
func (u *unit) check() error {
	u.about = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, u.about)
	for _, word := range append([]string{u.path, u.home}, u.argv...) {
		if strings.ContainsFunc(word, unicode.IsControl) {
			return errors.New("a unit cannot hold control characters: " + word)
		}
	}
	return nil
}

// systemd returns the unit for systemd. KillMode=process spares the supervisors of runs, which are
// in the same control group.
func (u *unit) systemd() string {
	words := make([]string, len(u.argv))
	for i, word := range u.argv {
		words[i] = systemdWord(word)
		if i > 0 { // the program path is not expanded
			words[i] = strings.ReplaceAll(words[i], "$", "$$")
		}
	}
	account, target := "", "default.target"
	if u.account != "" {
		account, target = "User="+u.account+"\n", "multi-user.target"
	}
	return fmt.Sprintf(`[Unit]
Description=ac: %s

[Service]
Type=exec
%sEnvironment=%s
ExecStart=%s
KillMode=process
Restart=on-failure
RestartSec=5

[Install]
WantedBy=%s
`, strings.ReplaceAll(u.about, "%", "%%"), account, systemdWord("PATH="+u.path), strings.Join(words, " "), target)
}

// systemdWord quotes one word of a setting.
func systemdWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}

// launchd returns the unit for launchd. AbandonProcessGroup spares the supervisors of runs.
func (u *unit) launchd() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + xmltext.Escape(u.name) + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, word := range u.argv {
		b.WriteString("\t\t<string>" + xmltext.Escape(word) + "</string>\n")
	}
	b.WriteString(`	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>` + xmltext.Escape(u.path) + `</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>AbandonProcessGroup</key>
	<true/>
	<key>StandardErrorPath</key>
	<string>` + xmltext.Escape(filepath.Join(u.home, "Library/Logs", u.name+".log")) + `</string>
</dict>
</plist>
`)
	return b.String()
}
