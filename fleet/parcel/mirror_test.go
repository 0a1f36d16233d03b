package parcel

import (
	"strconv"
	"strings"
	"testing"
)

func newMirrors(t *testing.T) Mirrors {
	t.Helper()
	dir := t.TempDir()
	return Mirrors{FS: openRoot(t, dir), Dir: dir, Environ: environ()}
}

func TestMirrorFetchesFromARemote(t *testing.T) {
	t.Parallel()
	remote, first := repository(t, "sha1")
	m := newMirrors(t)
	lay(t, remote, map[string]string{"a": "off"})
	git(t, remote, "checkout", "-q", "--detach")
	detached := commitAll(t, remote, "on no branch")
	git(t, remote, "config", "uploadpack.allowAnySHA1InWant", "true")
	for _, commit := range []string{first, detached} {
		if err := m.FromRemote(t.Context(), "repo", remote, commit); err != nil {
			t.Fatal(err)
		}
		if has, err := m.Has(t.Context(), "repo", commit); err != nil || !has {
			t.Errorf("the mirror lacks %s: %v", commit, err)
		}
	}
	for name, from := range map[string]string{"none": "", "an option": "--upload-pack=touch /tmp/x", "a program": "ext::touch x", "no repository": t.TempDir()} {
		if err := m.FromRemote(t.Context(), "repo", from, strings.Repeat("1", 40)); err == nil {
			t.Errorf("%s: fetched", name)
		}
	}
}

func TestMirrorKeepsTheNewestCommits(t *testing.T) {
	t.Parallel()
	source, _ := repository(t, "sha1")
	m := newMirrors(t)
	var commits []string
	for i := range keptBases + 2 {
		lay(t, source, map[string]string{"a": strconv.Itoa(i)})
		git(t, source, "add", "-A")
		at := strconv.Itoa(1_700_000_000+i) + " +0000"
		tree := git(t, source, "write-tree")
		commits = append(commits, gitIn(t, source, "tree "+tree+"\nauthor t <t@t> "+at+"\ncommitter t <t@t> "+at+"\n\n"+at+"\n", "hash-object", "-t", "commit", "-w", "--stdin"))
	}
	var heads []Head
	for i, commit := range commits {
		heads = append(heads, Head{"refs/ac/" + strconv.Itoa(i), commit})
	}
	if err := m.FromBundle(t.Context(), "repo", bundled(t, source, heads)); err != nil {
		t.Fatal(err)
	}
	for _, commit := range commits {
		if err := m.Keep(t.Context(), "repo", commit); err != nil {
			t.Fatal(err)
		}
	}
	tips, err := m.Tips(t.Context(), "repo")
	if err != nil || len(tips) != keptBases {
		t.Fatalf("%d tips, %v", len(tips), err)
	}
	for _, old := range commits[:2] {
		if strings.Contains(strings.Join(tips, " "), old) {
			t.Errorf("the oldest are kept")
		}
	}
}
