package canarytest

// Providers and workers that reveal every secret that they receive, in every encoding that a
// program may use.

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// given returns the secrets in this process's environment.
func given() (secrets []string) {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.Contains(name, "CANARY") {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// spill prints the given secrets to stdout and stderr, and words to stdout.
func spill(words []string) error {
	for i, secret := range given() {
		told := tellings(secret)
		for to, lines := range map[*os.File][]string{os.Stdout: told, os.Stderr: told[:4]} {
			if _, err := fmt.Fprintln(to, strings.Join(lines, "\n")); err != nil {
				return err
			}
		}
		if i%6 == 0 { // in pieces, each for a read of its own
			for piece := range slices.Chunk([]byte(secret), 1+len(secret)/3) {
				if _, err := os.Stdout.Write(piece); err != nil {
					return err
				}
				time.Sleep(2 * time.Millisecond)
			}
		}
	}
	for _, word := range words {
		fmt.Println("I was told", word)
	}
	_, err := fmt.Print(given()[0]) // without a newline
	return err
}

// tellings returns a secret in several forms: plain, and as the JSON encoders of several languages
// write it, alone and inside another JSON text.
func tellings(secret string) []string {
	plain := []string{secret, "x" + secret + "x"}
	for _, encode := range []func(string) string{html, strict, ascii, slashed} {
		once := encode(secret)
		twice := encode(`{"output":` + once + `}`)
		plain = append(plain,
			`{"type":"item.completed","item":{"type":"command_execution","command":"env","aggregated_output":`+once+`}}`,
			`{"type":"item.completed","item":{"type":"mcp_tool_call","result":`+twice+`}}`,
		)
	}
	return plain
}

// html encodes a text as JSON like Go, strict like most encoders.
func html(text string) string {
	out, _ := json.Marshal(text) // a string always marshals
	return string(out)
}

func strict(text string) string {
	var out strings.Builder
	for _, c := range text {
		switch short := strings.IndexRune("\"\\\n\r\t\b\f", c); {
		case short >= 0:
			out.WriteString(`\` + `"\nrtbf`[short:short+1])
		case c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteRune(c)
		}
	}
	return `"` + out.String() + `"`
}

// ascii encodes a text as JSON like Python: only ASCII.
func ascii(text string) string {
	var out strings.Builder
	for _, c := range strict(text) {
		if c < 0x80 {
			out.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// slashed encodes a text as JSON like PHP.
func slashed(text string) string { return strings.ReplaceAll(ascii(text), "/", `\/`) }

// work acts as a codex that reveals its secrets at every call.
func work(args []string) int {
	line := strings.Join(args, " ")
	secrets := strings.Join(given(), " ")
	switch {
	case line == "login status":
		fmt.Println("Logged in using ChatGPT", secrets)
		return 0
	case line == "--version":
		fmt.Println("codex 1.2.3", secrets)
		return 0
	case line == "app-server":
		// This codex lacks the protocol. Otherwise a probe would wait for it.
		fmt.Println("no such command", secrets)
		fmt.Fprintln(os.Stderr, "no such command", secrets)
		return 2
	case strings.HasSuffix(line, "--help"):
		fmt.Println("  --output-schema <FILE>", secrets)
		return 0
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return exitOf(err)
	}
	named := func(what string) string {
		_, rest, _ := strings.Cut(string(prompt), "\n"+what+": ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	if strings.HasPrefix(named("goal"), "fail") {
		fmt.Fprintln(os.Stderr, "I failed with", secrets)
		return 3
	}
	if err := spill([]string{string(prompt)}); err != nil {
		return exitOf(err)
	}
	fmt.Println()
	if i := slices.Index(args, "--output-last-message"); i >= 0 {
		return exitOf(os.WriteFile(args[i+1], []byte(secrets), 0o600))
	}
	result := `{"schema_version":1,"type":"result","job_id":` + html(named("job_id")) + `,"attempt_run_id":` + html(named("attempt_run_id")) +
		`,"status":"succeeded","summary":` + strict("done with "+secrets) + `,"files_changed":[],` +
		`"commands_run":[{"command":` + ascii("curl "+secrets) + `,"exit_code":0,"summary":` + html(secrets) + `}],"artifacts":[],` +
		`"next_actions":[{"action":` + slashed(secrets) + `,"rationale":null}],"errors":[]}`
	fmt.Printf("{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":%s}}\n", strict(result))
	return 0
}
