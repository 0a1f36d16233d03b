package events

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/internal/canonjson"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/ulid"
)

// examples returns the four worked examples of the format: canonical text and hash.
func examples(t testing.TB) (texts [][]byte, hashes []string) {
	t.Helper()
	for i, name := range []string{"1.json", "2.base64", "3.json", "4.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		if strings.HasSuffix(name, "base64") {
			if text, err = base64.StdEncoding.DecodeString(string(text)); err != nil {
				t.Fatal(err)
			}
		}
		texts = append(texts, text)
		hashes = append(hashes, []string{
			"f112fbbf5bd88daca0304ad87a591461148ff08bc2a153a96c9e8799b8a60e88",
			"f34e6072afcc6bcc2a2f97f5ec2dbf635276305ea16c091361b9ee1e5b30f90d",
			"eebe69c7772e9c8e49c529216d155b62aa4663447c9b1b9d7b26cf044fbeb7fe",
			"7078c6065e3c46c35b674b9a873aabf05b9cb9e6f2e9a3913ccb0b38036f22a7",
		}[i])
	}
	return texts, hashes
}

func exampleLog(t testing.TB) []byte {
	texts, hashes := examples(t)
	var log []byte
	for i, text := range texts {
		log = append(log, text[:len(text)-1]...)
		log = append(log, hashMember+hashes[i]+"\"}\n"...)
	}
	return log
}

func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	texts, hashes := examples(t)
	for i, text := range texts {
		canonical, err := canonjson.Canonical(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(canonical)); diff != "" {
			t.Errorf("example %d:\n%s", i+1, diff)
		}
		if got := hashOf(canonical); got != hashes[i] {
			t.Errorf("example %d: hash %s, want %s", i+1, got, hashes[i])
		}
	}
	report := verify(t, exampleLog(t))
	if !report.Sound() || report.Events != 4 {
		t.Errorf("the four examples as a log: %+v", report)
	}
}

// TestOtherSpellings checks that another spelling of the same values verifies, and
// that another order of members or another value does not.
func TestOtherSpellings(t *testing.T) {
	t.Parallel()
	log := string(exampleLog(t))
	first := log[:strings.IndexByte(log, '\n')]
	hash := first[strings.Index(first, hashMember)+1 : len(first)-1]
	for name, c := range map[string]struct {
		line  string
		sound bool
	}{
		"spaces":         {strings.Replace(first, `":`, `" : `, 5), true},
		"escaped letter": {strings.Replace(first, "system", `syst\u0065m`, 1), true},
		"1.0 for 1":      {strings.Replace(first, `:1,`, `:1.0,`, 1), true},
		"hash in front":  {"{" + hash + "," + strings.Replace(first, ","+hash, "", 1)[1:], true},
		"another order":  {strings.Replace(first, `"actor":"system","visibility":"org"`, `"visibility":"org","actor":"system"`, 1), false},
		"another value":  {strings.Replace(first, `"system"`, `"sYstem"`, 1), false},
	} {
		if report := verify(t, []byte(c.line+"\n")); report.Sound() != c.sound {
			t.Errorf("%s: sound is %v: %+v", name, report.Sound(), report.VerificationIssues)
		}
	}
}

func verify(t testing.TB, log []byte) *Report {
	t.Helper()
	report, err := Verify(bytes.NewReader(log), nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestVerifyIssues checks the code of each fault.
func TestVerifyIssues(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(string(exampleLog(t)), "\n")[:4]
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"not an object":  {"[1]\n" + lines[0], []string{"1 invalid_shape", ""}},
		"empty object":   {"{}\n", append(missing(Keys()), "1 invalid_schema_version", "1 invalid_prev_hash_type", "1 invalid_event_hash")},
		"first has prev": {lines[1], []string{"1 first_prev_hash_non_null"}},
		"line dropped":   {lines[0] + lines[2], []string{"2 prev_hash_chain_mismatch"}},
		"line doubled":   {lines[0] + lines[0], []string{"2 prev_hash_chain_mismatch"}},
		"lines swapped":  {lines[1] + lines[0], []string{"1 first_prev_hash_non_null", "2 prev_hash_chain_mismatch"}},
	} {
		var got []string
		for _, issue := range verify(t, []byte(c.log)).VerificationIssues {
			got = append(got, fmt.Sprintf("%d %s", issue.Seq, issue.Code))
		}
		if name == "not an object" {
			c.want = []string{"1 invalid_shape"}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func missing(keys []string) (issues []string) {
	for range keys {
		issues = append(issues, "1 missing_key")
	}
	return issues
}

type fixture struct {
	root   *durable.Root
	source Source
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	root, err := durable.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	c := clock.System()
	return &fixture{root: root, source: Source{Clock: c, NewID: ulid.NewSourceFrom(time.Now, rand.Reader).New}}
}

func (f *fixture) draft(t testing.TB, kind string, payload any) Draft {
	t.Helper()
	d, err := f.source.Draft(Draft{RunID: "run_1", SessionRef: "local_run_1", Actor: ActorSystem, Visibility: VisibilityOrg, Type: kind}, payload)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (f *fixture) read(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.root.Path(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestManyWriters checks that several appenders make one chain. Each has its own Log,
// as a process of its own would.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const writers, each = 8, 40
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			log := OpenLog(f.root, FileName)
			for i := range each {
				if err := log.Append(context.Background(), f.draft(t, "x.note", map[string]int{"writer": w, "i": i})); err != nil {
					t.Error(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	report := verify(t, f.read(t))
	if !report.Sound() || report.Events != writers*each {
		t.Errorf("%d events, issues %v", report.Events, report.VerificationIssues)
	}
}

// TestTornAtEveryByte cuts a log at every offset. The next append loses only the torn
// line, and verification reports that line.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := OpenLog(f.root, FileName)
	if err := log.Append(context.Background(), f.draft(t, "a", 1), f.draft(t, "b", "\u2028 é 😀")); err != nil {
		t.Fatal(err)
	}
	whole := f.read(t)
	first := bytes.IndexByte(whole, '\n') + 1
	for cut := range whole {
		if err := os.WriteFile(filepath.Join(f.root.Path(), FileName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := log.Append(context.Background(), f.draft(t, "c", nil)); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		report := verify(t, f.read(t))
		wantParse := 1
		if cut == 0 || cut == first || cut == first-1 || cut == len(whole)-1 {
			wantParse = 0
		}
		if len(report.ParseIssues) != wantParse || len(report.VerificationIssues) != 0 {
			t.Fatalf("cut at %d: %d parse issues, %v", cut, len(report.ParseIssues), report.VerificationIssues)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEveryBit flips each bit of one event and expects verification to detect each flip.
func TestEveryBit(t *testing.T) {
	t.Parallel()
	log := exampleLog(t)
	end := bytes.IndexByte(log, '\n')
	for i := range end {
		for bit := range 8 {
			log[i] ^= 1 << bit
			if verify(t, log).Sound() {
				t.Errorf("byte %d, bit %d: not found", i, bit)
			}
			log[i] ^= 1 << bit
		}
	}
}

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := OpenLog(f.root, FileName)
	if err := log.Append(context.Background(), f.draft(t, "a", 1), f.draft(t, "b", 2), f.draft(t, RunEnded, nil)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(f.read(t), []byte("\n"))[:3]
	two := Checkpoint{Count: 2, Head: sealOf(lines[1])}
	for name, c := range map[string]struct {
		log  [][]byte
		mark Checkpoint
		want string
	}{
		"whole":             {lines, two, ""},
		"end cut off":       {lines[:2], two, "log_shorter_than_record"},
		"shorter":           {lines[:1], two, "log_shorter_than_record"},
		"other than record": {lines, Checkpoint{Count: 2, Head: strings.Repeat("0", 64)}, "log_differs_from_record"},
	} {
		report, err := Verify(bytes.NewReader(bytes.Join(c.log, nil)), &c.mark, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(report.RecordIssues) > 0 {
			got = report.RecordIssues[0].Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestScannerModel compares the scanner with splitting in memory, for reads of any
// size.
func TestScannerModel(t *testing.T) {
	t.Parallel()
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{"\n", " ", "\r", "x", `{"a":1}`, "\n\n", strings.Repeat("y", 300)}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		var want []string
		for line := range strings.SplitSeq(text, "\n") {
			if strings.TrimSpace(line) != "" {
				want = append(want, line)
			}
		}
		s := NewScanner(&stingy{text: text, step: rapid.IntRange(1, 9).Draw(t, "step")}, 0, 0)
		s.buf = make([]byte, 4)
		var got []string
		for {
			line, err := s.Next()
			if err != nil {
				break
			}
			if text[line.Offset:line.Offset+int64(len(line.Raw))] != string(line.Raw) || line.Seq != int64(len(got)+1) {
				t.Fatalf("line %d at %d", line.Seq, line.Offset)
			}
			got = append(got, string(line.Raw))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		n, _, err := CountLines(&stingy{text: text, step: 3})
		if err != nil || n != int64(len(want)) {
			t.Fatalf("counted %d, want %d (%v)", n, len(want), err)
		}
	})
}

type stingy struct {
	text string
	step int
}

func (s *stingy) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), s.step)], s.text)
	s.text = s.text[n:]
	if n == 0 {
		return 0, fmt.Errorf("wrapped: %w", io.EOF)
	}
	return n, nil
}

func FuzzVerify(f *testing.F) {
	f.Add(exampleLog(f))
	f.Add([]byte("{\"event_hash\":\"\"}\n\n[]\n{"))
	f.Add([]byte("\v0\n\u00a0\n0\r\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		report := verify(t, log)
		var parsed int64
		for line := range bytes.SplitSeq(log, []byte("\n")) {
			if json.Valid(line) { // only JSON's own white space may surround a value
				parsed++
			}
		}
		if report.Events != parsed && len(log) < canonjson.MaxDepth {
			t.Fatalf("%d events, %d lines of JSON", report.Events, parsed)
		}
		if _, err := ReadTail(bytes.NewReader(log), int64(len(log))); err != nil {
			t.Fatal(err)
		}
	})
}
