package decisions

// Requests about code: which count as equal, and what the agent sees.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// TestCodeKey checks that requests with the same method and params have one key, whoever asks and
// however long they wait.
func TestCodeKey(t *testing.T) {
	t.Parallel()
	keyOf := func(change func(*CodeParams), method string) string {
		p := CodeParams{codeParams: codeParams{ProjectID: "p", RepoID: "r", WorkerAgentID: "a", ActorID: "human"}, Code: "x", Language: "go", FilePath: "f", Instructions: "i"}
		change(&p)
		key, err := p.work(method, doc.AnswerText, "goal").key(p.codeParams)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	const explain = "code.explain"
	first := keyOf(func(*CodeParams) {}, explain)
	if again := keyOf(func(p *CodeParams) { p.ActorID, p.ActorRole, p.WaitMS, p.Join = "b", "ceo", 7, true }, explain); again != first {
		t.Error("the actor and the patience tell requests from another")
	}
	keys := []string{first, keyOf(func(*CodeParams) {}, "code.refactor")}
	for _, change := range []func(*CodeParams){
		func(p *CodeParams) { p.Code = "y" }, func(p *CodeParams) { p.Language = "c" }, func(p *CodeParams) { p.FilePath = "g" }, func(p *CodeParams) { p.Instructions = "" },
		func(p *CodeParams) { p.ProjectID = "q" }, func(p *CodeParams) { p.RepoID = "" }, func(p *CodeParams) { p.WorkerAgentID = "b" },
		func(p *CodeParams) { p.Code, p.Language = "xg", "o" },
	} {
		keys = append(keys, keyOf(change, explain))
	}
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 10 {
		t.Errorf("%d keys of 10 requests", n)
	}
}

// TestCodeAttachments checks what an agent sees: the selection and the whole file. The file is left
// out if it equals the selection, is too long, or is not in the repository.
func TestCodeAttachments(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "repo")
	for name, text := range map[string]string{
		"repo/src/a.go": "package a\n\nvar x = 1\n", "repo/long.txt": strings.Repeat("x", maxWholeFile+1), "repo/most.txt": strings.Repeat("x", maxWholeFile),
		"repo/odd.txt": "a\xffb", "secret.txt": "secret",
	} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "secret.txt"), filepath.Join(root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	selection := func(path string) doc.Attachment {
		return doc.Attachment{Name: doc.SelectionName, Text: "var x = 1", Path: path}
	}
	whole := func(path, text string) doc.Attachment { return doc.Attachment{Name: "file", Text: text, Path: path} }
	const source = "package a\n\nvar x = 1\n"
	for path, want := range map[string][]doc.Attachment{
		"": {selection("")}, "*scratch*": {selection("*scratch*")}, "../secret.txt": {selection("")}, filepath.Join(top, "secret.txt"): {selection("")},
		"src/a.go": {selection("src/a.go"), whole("src/a.go", source)}, filepath.Join(root, "src/a.go"): {selection("src/a.go"), whole("src/a.go", source)},
		"src/none.go": {selection("src/none.go")}, "long.txt": {selection("long.txt")}, "link.txt": {selection("link.txt")},
		"most.txt": {selection("most.txt"), whole("most.txt", strings.Repeat("x", maxWholeFile))}, "odd.txt": {selection("odd.txt"), whole("odd.txt", "a\uFFFDb")},
	} {
		got, err := codeWork{code: "var x = 1", path: path, answer: doc.AnswerText}.attachments(root)
		if err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %.500s", path, diff)
		}
	}
	got, err := codeWork{code: source, path: "src/a.go"}.attachments(root)
	if err != nil || len(got) != 1 {
		t.Errorf("a selection that is its whole file: %d attachments (%v)", len(got), err)
	}
	for _, path := range []string{"", "../secret.txt", filepath.Join(top, "secret.txt")} {
		if _, err := (codeWork{code: "x", path: path, answer: doc.AnswerFiles}).attachments(root); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), path+" is outside the repository") {
			t.Errorf("files of %q: %v", path, err)
		}
	}
}

// TestMayDoJobs checks which roles may do jobs.
func TestMayDoJobs(t *testing.T) {
	t.Parallel()
	var able []string
	for _, role := range doc.Roles() {
		if MayDoJobs(role) {
			able = append(able, role)
		}
	}
	slices.Sort(able)
	if diff := cmp.Diff([]string{"manager", "worker"}, able); diff != "" {
		t.Error(diff)
	}
}
