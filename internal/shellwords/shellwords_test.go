package shellwords

import (
	"strings"
	"testing"
)

func TestUnwrapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"touch a", "touch a"},
		{"/bin/bash -lc 'touch approved.txt && echo made'", "touch approved.txt && echo made"},
		{"bash -lc 'ls'", "ls"},
		{"/usr/bin/bash -c ls", "ls"},
		{`sh -c "ls -l"`, "ls -l"},
		{"zsh -lc 'ls'", "ls"},
		{`bash -lc 'echo '\''x'\'''`, "echo 'x'"},
		{`bash -lc "echo \"x\" \$HOME"`, `echo "x" $HOME`},
		{`bash -lc 'echo $HOME'`, "echo $HOME"},
		{`bash -lc "sh -c 'rm -rf x'"`, "rm -rf x"},
		{"  bash   -lc\t'ls'  ", "ls"},
		{`bash -lc 'a'"b"c\ d`, "abc d"},
		// Anything but a shell with one script stays whole.
		{"bash -lc 'git status'; rm -rf x", "bash -lc 'git status'; rm -rf x"},
		{"bash -lc 'git status' && rm x", "bash -lc 'git status' && rm x"},
		{"bash -lc 'git status' name", "bash -lc 'git status' name"},
		{"bash -lc 'git status", "bash -lc 'git status"},
		{`bash -lc "git $SUB"`, `bash -lc "git $SUB"`},
		{"bash -lc `x`", "bash -lc `x`"},
		{"bash script.sh", "bash script.sh"},
		{"bash -lc", "bash -lc"},
		{"bash --rcfile=evil -c ls", "bash --rcfile=evil -c ls"},
		{"notbash -c ls", "notbash -c ls"},
		{"FOO=1 bash -c ls", "FOO=1 bash -c ls"},
	} {
		if got := Unwrap(c.line); got != c.want {
			t.Errorf("Unwrapped(%q) = %q, want %q", c.line, got, c.want)
		}
	}
}

// FuzzUnwrapped checks that unwrapping adds nothing and is idempotent.
func FuzzUnwrapped(f *testing.F) {
	for _, seed := range []string{"bash -lc 'ls'", `sh -c "a\"b"`, `bash -c 'a'\''b'`, "bash -c \\", "bash -c \"\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := Unwrap(line)
		if len(got) > len(line) {
			t.Fatalf("%q grew to %q", line, got)
		}
		if again := Unwrap(got); again != got {
			t.Fatalf("%q is %q, and %q when unwrapped again", line, got, again)
		}
		// The script is part of the line, so its bytes must occur there.
		for _, c := range []byte(got) {
			if strings.IndexByte(line, c) < 0 {
				t.Fatalf("%q has a byte that %q has not", got, line)
			}
		}
	})
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"make test":                        {"make", "test"},
		"sh -c 'echo built; exit 3'":       {"sh", "-c", "echo built; exit 3"},
		`echo '' 'it'\''s' '$HOME' a=b 翻訳`: {"echo", "", "it's", "$HOME", "a=b", "翻訳"},
		"":                                 nil,
	} {
		if got := Join(words); got != want {
			t.Errorf("%q is %q, want %q", words, got, want)
		}
	}
}
