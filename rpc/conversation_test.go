package rpc

// Conversations: what a client sends and what the server answers, kept in
// testdata/conversations and replayed against the real server.
//
// A file begins with what it checks. Its section "conversation" holds lines that
// the client sends (>), lines that the server answers (<), comments (#) and
// steps (@ cp FROM TO; @ rm NAME; @ tick, which waits for the clock's next
// millisecond). All other sections are files that exist in $dir when the
// conversation begins. The client sends all > lines up to the next < at once.
// Answers come before notifications.
//
// In server lines, placeholders replace what differs from run to run: $dir, $ws
// (a path in $dir that does not exist yet), ids by their prefix and a count in order
// of appearance ($run1), <time>, <hash>, <tick>, and <n> for pids and milliseconds.
// <any> matches anything. Later lines and steps may refer to ids by these names.
//
// The background worker that syncs indexes runs only in conversations that mention
// sync_worker. Elsewhere it would consume the changes that an explicit sync counts.
//
// go test ./rpc -run TestConversations -update rewrites the server lines that no
// longer match. A bare < is a placeholder for one more line.

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/fleet/fleettest"
	"ac/internal/fault"
	"ac/workspace"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the server lines of the conversations")

// section names the part of a file that holds the conversation.
const section = "conversation"

func conversationFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	return files
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for _, file := range conversationFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			converse(t, file, fits)
		})
	}
}

// TestEveryMethodHasAConversation checks that the conversations contain a result
// and an error of every method in the table.
func TestEveryMethodHasAConversation(t *testing.T) {
	t.Parallel()
	good, bad := map[string]bool{}, map[string]bool{}
	for _, file := range conversationFiles(t) {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]string{}
		for line := range strings.Lines(string(archive.Files[0].Data)) {
			var message struct {
				ID     json.RawMessage
				Method string
				Error  json.RawMessage
			}
			if len(line) < 2 || json.Unmarshal(neutral(line[2:]), &message) != nil {
				continue
			}
			id := string(message.ID)
			switch {
			case line[0] == '>':
				asked[id] = message.Method
			case message.Method == "" && message.Error == nil:
				good[asked[id]] = true
			case message.Method == "":
				bad[asked[id]] = true
			}
		}
	}
	for _, m := range NewTable("").Methods() {
		if !good[m.Name] || !bad[m.Name] {
			t.Errorf("%s: a good answer %v, an error %v", m.Name, good[m.Name], bad[m.Name])
		}
	}
}

// neutral turns a line into JSON by replacing <n> and <any> with 0.
func neutral(line string) []byte {
	return []byte(strings.NewReplacer("<n>", "0", "<any>", "0").Replace(line))
}

// talk is one conversation in progress.
type talk struct {
	t    *testing.T
	peer *peer
	dir  string
	// models is the address of a model server, "" for none.
	models string
	names  map[string]string // by id
	count  map[string]int    // ids seen, by prefix
	fits   func(want, got string) bool
}

// converse runs the conversation in a file. fit compares an expected line with the server's.
func converse(t *testing.T, file string, fit func(want, got string) bool) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 || len(archive.Files) == 0 || archive.Files[0].Name != section {
		t.Fatalf("%s must say what it pins, and its first section must be %s", file, section)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files[1:] {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	if answers, err := os.ReadFile(filepath.Join(dir, hubAnswers)); err == nil {
		playHub(t, filepath.Join(dir, "ws"), answers)
	}
	text := archive.Files[0].Data
	models := ""
	if bytes.Contains(text, []byte("$models")) {
		models = modelServer(t)
	}
	peer := newPeerWith(t, func(s *Server) {
		if bytes.Contains(text, []byte("sync_worker")) {
			return
		}
		if err := s.all.CloseWorker(t.Context()); err != nil {
			t.Error(err)
		}
	})
	talk := &talk{t: t, peer: peer, dir: dir, models: models, names: map[string]string{}, count: map[string]int{}, fits: fit}
	said := talk.run(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
	if rest := talk.peer.finish(); len(rest) > 0 {
		t.Errorf("the server said more: %q", rest)
	}
	if *update {
		archive.Files[0].Data = []byte(strings.Join(said, "\n") + "\n")
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// hubAnswers names a conversation's file with the answers of the hub: one line for each verb,
// followed by its result.
const hubAnswers = "hub"

// playHub stands in for a workspace's hub in another process.
func playHub(t *testing.T, dir string, answers []byte) {
	t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	fleettest.Start(t, w, func(verb string, _ json.RawMessage) (any, error) {
		for line := range strings.Lines(string(answers)) {
			if result, ok := strings.CutPrefix(line, verb+" "); ok {
				return json.RawMessage(strings.TrimSpace(result)), nil
			}
		}
		return nil, fault.New(fault.Conflict, "the played hub has no answer for %s", verb)
	})
}

// modelServer starts a server that lists models to clients with the key.
func modelServer(t *testing.T) (base string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-never-shown" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"small","context_length":8192},{"id":"large"}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run executes the lines and returns them with the server's actual answers.
func (k *talk) run(lines []string) (said []string) {
	for at := 0; at < len(lines); {
		line := lines[at]
		if !strings.HasPrefix(line, ">") {
			k.step(line)
			said = append(said, line)
			at++
			continue
		}
		var ask []string
		answers := 0
		for ; at < len(lines) && strings.HasPrefix(lines[at], ">"); at++ {
			text := k.expand(strings.TrimPrefix(lines[at][1:], " "))
			var message struct{ ID json.RawMessage }
			if json.Unmarshal([]byte(text), &message) != nil || message.ID != nil {
				answers++
			}
			ask = append(ask, text)
			said = append(said, lines[at])
		}
		var want []string
		for ; at < len(lines) && strings.HasPrefix(lines[at], "<"); at++ {
			want = append(want, strings.TrimPrefix(lines[at][1:], " "))
		}
		if !*update {
			answers = len(want)
		}
		k.peer.send(strings.Join(ask, "\n") + "\n")
		for i, got := range k.listen(max(answers, len(want))) {
			if i < len(want) && k.fits(want[i], got) {
				got = want[i]
			} else if !*update {
				k.t.Errorf("%s\n got %s\nwant %s", strings.Join(ask, "\n"), got, want[i])
			}
			said = append(said, "< "+got)
		}
	}
	return said
}

// listen reads n lines, sorts answers before notifications, and puts placeholders into them.
func (k *talk) listen(n int) (lines []string) {
	for range n {
		lines = append(lines, k.peer.next())
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(k.peer.read(a).Method, k.peer.read(b).Method)
	})
	for i := range lines {
		lines[i] = k.name(lines[i])
	}
	return lines
}

func (k *talk) step(line string) {
	words := strings.Fields(k.expand(line))
	switch {
	case len(words) == 0 || words[0] == "#":
	case len(words) == 4 && words[1] == "cp":
		data, err := os.ReadFile(filepath.Join(k.dir, words[2]))
		if err != nil {
			k.t.Fatal(err)
		}
		write(k.t, filepath.Join(k.dir, words[3]), data)
	case len(words) == 3 && words[1] == "rm":
		if err := os.RemoveAll(filepath.Join(k.dir, words[2])); err != nil {
			k.t.Fatal(err)
		}
	case len(words) == 2 && words[1] == "tick":
		for before := time.Now().UnixMilli(); time.Now().UnixMilli() == before; {
			time.Sleep(time.Millisecond)
		}
	default:
		k.t.Fatalf("unknown step: %s", line)
	}
}

var (
	variable = regexp.MustCompile(`\$[a-z]+[0-9]*`)
	ulidOnly = regexp.MustCompile(`([a-z]+)_([0-9A-HJKMNP-TV-Z]{26})`)
	ptyOnly  = regexp.MustCompile(`\bpty-[a-z2-7]{10}\b`)
	varying  = []struct {
		what *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "<time>"},
		{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<hash>"},
		{regexp.MustCompile(`\bhbtick_\d+_[0-9a-z]{1,8}\b`), "<tick>"},
		{regexp.MustCompile(`("[a-z_]*(?:pid|_ms)":)\d+`), "${1}<n>"},
		{regexp.MustCompile(`("server_id":")[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`), `${1}<uuid>"`},
		// Timing decides in how many chunks an agent's output arrives before its request.
		{regexp.MustCompile(`("seq":)\d+(,"event":\{[^{}]*"type":"interaction\.requested")`), "${1}<n>${2}"},
	}
)

// expand replaces the names in a client line with their values.
func (k *talk) expand(line string) string {
	return variable.ReplaceAllStringFunc(line, func(name string) string {
		switch name {
		case "$dir":
			return k.dir
		case "$ws":
			return filepath.Join(k.dir, "ws")
		case "$models":
			return k.models
		}
		for id, known := range k.names {
			if known == name {
				return id
			}
		}
		k.t.Fatalf("nothing was named %s: %s", name, line)
		return ""
	})
}

// name replaces what differs from run to run with names and placeholders.
func (k *talk) name(line string) string {
	line = strings.ReplaceAll(line, filepath.Join(k.dir, "ws"), "$ws")
	line = strings.ReplaceAll(line, k.dir, "$dir")
	if k.models != "" {
		line = strings.ReplaceAll(line, k.models, "$models")
	}
	line = ulidOnly.ReplaceAllStringFunc(line, func(id string) string {
		prefix, _, _ := strings.Cut(id, "_")
		if k.names[id] == "" {
			k.count[prefix]++
			k.names[id] = "$" + prefix + strconv.Itoa(k.count[prefix])
		}
		return k.names[id]
	})
	line = ptyOnly.ReplaceAllStringFunc(line, func(id string) string {
		if k.names[id] == "" {
			k.count["pty"]++
			k.names[id] = "$pty" + strconv.Itoa(k.count["pty"])
		}
		return k.names[id]
	})
	for _, v := range varying {
		line = v.what.ReplaceAllString(line, v.name)
	}
	return line
}

// fits reports whether got matches want, in which <any> matches anything.
func fits(want, got string) bool {
	parts := strings.Split(want, "<any>")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}
