package files

// Hostile paths: path traversal, git's own files and links.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// hostile returns paths, each with the problems that may be reported for it.
func hostile(root string) map[string][]string {
	list := map[string][]string{}
	add := func(problem string, names ...string) {
		for _, name := range names {
			list[name] = append(list[name], problem)
		}
	}
	add(PathInvalid, "", "a\x00b", "\x00", "a\nb", "a\tb", "a\rb", "\x1b[31m", "\x7f", "a\u0085b", "a\\b", `..\x`, `C:\x`, `\\host\share`, "\xff", "a/\xfe\xff", "\xc3\x28",
		strings.Repeat("a/", 2048)+"a", strings.Repeat("x", 256), "a/"+strings.Repeat("x", 256)+"/b", strings.Repeat("é", 128), ".git\\config", "\u0000.git/config")
	add(OutsideRoot, "..", "../", "../x", "../../etc/passwd", "a/../../x", "a/b/../../../x", "./../x", ".//..//x", "/", "/x", "/etc/passwd", "//etc/passwd", "/proc/self/root",
		root+"/..", root+"/../x", root+"x", filepath.Dir(root), "out/x", "out", "sub/out/x", "sub/up/x", "up/x", "abs/x", "loop/x", "loop2/x", "chain/x", "/dev/null", "/tmp/../etc/passwd",
		"../"+filepath.Base(root)+"/../x", "sub/../../x", "sub/./../../x")
	for _, git := range []string{".git", ".GIT", ".Git", ".gIt", ".giT", ".git.", ".git ", ".git..", ".git. ", ".git::$INDEX_ALLOCATION", ".git:x", "GIT~1", "git~1", ".g\u200cit", ".gi\u200dt", "\ufeff.git", ".git\u200e", "\u2060.git", ".GIT.", ".Git "} {
		add(Protected, git, git+"/config", git+"/hooks/pre-commit", "sub/"+git, "sub/"+git+"/config", "./"+git+"/config", "new/dir/"+git+"/x")
	}
	add(Protected, root+"/.git/config", "gitlink/config", "gitlink/hooks/x", "sub/gitup/config", "module/x", "module/deep/x", "nested/x", "nested/.git/config", "ws/x", "ws/company/company.yaml", "ws/.local/machine.yaml", "ws/work/x", "wslink/x", "modulelink/x")
	add(NotAFile, ".", "./", "sub", "sub/", "a.txt/x", "a.txt/x/y", "fifo", "fifo/x", "sub/..", "sub/b.txt/x", root, root+"/", "filelink/x")
	add(IsLink, "link", "sub/../link", "./link", "dangling", "sub/back", root+"/link")
	return list
}

// hostileGround creates a repository with links, submodules, a nested repository, a workspace and a
// FIFO, and a directory outside of it.
func hostileGround(t *testing.T) (root, outside string) {
	t.Helper()
	top := resolved(t)
	root, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	for name, text := range base() {
		put(t, root, name, text)
	}
	put(t, outside, "secret", "secret\n")
	git(t, root, "init", "--quiet")
	put(t, root, "module/.git", "gitdir: ../.git/modules/module\n")
	put(t, root, "nested/.git/config", "x")
	put(t, root, "ws/company/company.yaml", "x")
	for name, target := range map[string]string{
		"out": outside, "sub/out": "../../outside", "sub/up": "../..", "up": "..", "abs": "/etc", "loop": "loop", "loop2": "sub/loop2", "sub/loop2": "../loop2",
		"chain": "sub/out", "link": "a.txt", "dangling": "nowhere", "sub/back": "../a.txt", "gitlink": ".git", "sub/gitup": "../.git", "wslink": "ws", "modulelink": "sub/../module/deep",
		"filelink": "a.txt", "inside": "sub", "insideabs": filepath.Join(root, "sub"),
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, outside
}

func TestHostilePaths(t *testing.T) {
	t.Parallel()
	root, outside := hostileGround(t)
	before := [2]map[string]string{everything(t, root), everything(t, outside)}
	list := hostile(root)
	if len(list) < 200 {
		t.Errorf("only %d names", len(list))
	}
	fsys, err := durable.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	for name, problems := range list {
		for _, a := range []Artifact{{Path: name, Content: []byte("x")}, {Path: name, Delete: true}} {
			d := newTargetRoot(fsys, root).judge([]Artifact{a}, nil, nil)[0]
			if !slices.Contains(problems, d.row.Problem) {
				t.Errorf("%q: %q (%s), want %q", name, d.row.Problem, d.row.Message, problems)
			}
			if d.writes() {
				t.Errorf("%q would be written", name)
			}
		}
	}
	if !maps.Equal(before[0], everything(t, root)) || !maps.Equal(before[1], everything(t, outside)) {
		t.Error("something changed")
	}
	for name, place := range map[string]string{
		"x": "x", "inside/x": "sub/x", "insideabs/x": "sub/x", root + "/x": "x", "sub/../x": "x", "new/deep/x": "new/deep/x", ".gitignore": ".gitignore", ".github/x": ".github/x",
		"a b": "a b", "a.txt/": "a.txt", "ü": "ü", "...": "...", "..x": "..x", "-rf": "-rf", "git": "git", "a:b": "a:b", strings.Repeat("x", 255): strings.Repeat("x", 255), root + "/inside/x": "sub/x",
	} {
		d := newTargetRoot(fsys, root).judge([]Artifact{{Path: name, Content: []byte("x")}}, nil, nil)[0]
		if d.row.Problem != "" || d.at.place != place {
			t.Errorf("%q: %q at %q", name, d.row.Problem, d.at.place)
		}
	}
}

// everything returns the files of a directory by name, with git's own. For a link it has the type
// only.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if e.Type().IsRegular() {
			text, err := os.ReadFile(name)
			found[name] = string(text)
			return err
		}
		found[name] = e.Type().String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestContents checks that binary, oversized, surplus and duplicate files are refused.
func TestContents(t *testing.T) {
	t.Parallel()
	root := resolved(t)
	put(t, root, "binary", "a\x00b")
	put(t, root, "latin", "\xe9")
	put(t, root, "large", strings.Repeat("x", MaxFile+1))
	fsys, err := durable.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	list := []Artifact{
		{Path: "binary", Content: []byte("x")}, {Path: "latin", Delete: true}, {Path: "large", Content: []byte("x")}, {Path: "b", Content: []byte{0}},
		{Path: "u", Content: []byte("\xff")}, {Path: "l", Content: bytes.Repeat([]byte("x"), MaxFile+1)}, {Path: "ok", Content: []byte("x")},
		{Path: "./ok", Content: []byte("y")}, {Path: "nothing", Delete: true}, {Path: "full", Content: bytes.Repeat([]byte("x"), MaxFile)},
	}
	for i := len(list); i <= MaxFiles; i++ {
		list = append(list, Artifact{Path: fmt.Sprint("f", i), Content: []byte("x")})
	}
	want := []string{Binary, Binary, TooLarge, Binary, Binary, TooLarge, "", Duplicate, "", ""}
	decisions := newTargetRoot(fsys, root).judge(list, nil, nil)
	for i, problem := range want {
		if got := decisions[i].row.Problem; got != problem {
			t.Errorf("%s: %q, want %q", list[i].Path, got, problem)
		}
	}
	if decisions[8].row.Action != Skip || decisions[MaxFiles-1].row.Problem != "" || decisions[MaxFiles].row.Problem != TooMany {
		t.Errorf("%+v", decisions[MaxFiles].row)
	}
}

// TestAPartOfAWorkspace checks that a root among the company's own files is refused.
func TestAPartOfAWorkspace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for dir, want := range map[string]string{".": Protected, "work/projects": Protected, "org": Protected, ".local": Protected, "repos/mine": "", ".local/worktrees/p/t/r": ""} {
		root := filepath.Join(s.dir, dir)
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		fsys, err := durable.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		if got := newTargetRoot(fsys, root).judge([]Artifact{{Path: "x", Content: []byte("x")}}, nil, nil)[0].row; got.Problem != want {
			t.Errorf("%s: %+v", dir, got)
		}
		_ = fsys.Close()
	}
}

// TestASwappedLink tests the race between check and use: it swaps a directory for a symlink before
// the n-th call. Nothing may be written outside the root or into git's own files.
func TestASwappedLink(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"outside", ".git"} {
		for n := 1; ; n += 3 { // until an apply has fewer than n calls
			s := newStage(t)
			outside := resolved(t)
			put(t, outside, "b.txt", "two\n")
			put(t, s.repo, ".git/b.txt", "two\n")
			target := ".git"
			if to == "outside" {
				target = outside
			}
			calls := 0
			env := workspace.SystemEnv()
			env.OpenFS = func(dir string) (durable.FS, error) {
				fsys, err := durable.OpenRoot(dir)
				if dir != s.repo || err != nil {
					return fsys, err
				}
				return &watched{FS: fsys, before: func() {
					if calls++; calls == n {
						moved := filepath.Join(s.repo, "moved")
						if err := errors.Join(os.Rename(filepath.Join(s.repo, "sub"), moved), os.Symlink(target, filepath.Join(s.repo, "sub"))); err != nil {
							t.Error(err)
						}
					}
				}}, nil
			}
			service := s.service(t, s.open(t, env))
			was := [2]map[string]string{everything(t, outside), everything(t, filepath.Join(s.repo, ".git"))}
			_, err := service.Apply(context.Background(), s.order(file("sub/b.txt", "new\n"), file("sub/c.txt", "new\n")))
			if is := [2]map[string]string{everything(t, outside), everything(t, filepath.Join(s.repo, ".git"))}; !maps.Equal(was[0], is[0]) || !maps.Equal(was[1], is[1]) {
				t.Errorf("swapped before call %d: it was written elsewhere", n)
			}
			if err != nil && !fault.Is(err, fault.FilesRefused) && !fault.Is(err, fault.WriteFailed) {
				t.Errorf("swapped before call %d: %v", n, err)
			}
			if calls < n {
				if n < 20 {
					t.Errorf("only %d calls were seen", n)
				}
				break
			}
		}
	}
}

// watched is a file system that runs before() ahead of its calls, and of those of its
// subdirectories.
type watched struct {
	durable.FS
	before func()
}

func (w *watched) Sub(name string) (durable.FS, error) {
	w.before()
	fsys, err := w.FS.Sub(name)
	return &watched{fsys, w.before}, err
}

func (w *watched) Lstat(name string) (fs.FileInfo, error) {
	w.before()
	return w.FS.Lstat(name)
}

func (w *watched) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	w.before()
	return w.FS.OpenFile(name, flag, perm)
}

func (w *watched) Exchange(a, b string) error {
	w.before()
	return w.FS.Exchange(a, b)
}

func (w *watched) Link(from, to string) error {
	w.before()
	return w.FS.Link(from, to)
}

func (w *watched) Stat(name string) (fs.FileInfo, error) {
	w.before()
	return w.FS.Stat(name)
}

// plain is a file system without atomic exchange and without hard links.
type plain struct{ durable.FS }

func (p plain) Sub(name string) (durable.FS, error) {
	fsys, err := p.FS.Sub(name)
	return plain{fsys}, err
}

func (plain) Exchange(string, string) error { return durable.ErrNoExchange }

func (plain) Link(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM}
}

// TestAPlainFileSystem applies and reverts on a file system that supports only plain renames.
func TestAPlainFileSystem(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	env := workspace.SystemEnv()
	env.OpenFS = func(dir string) (durable.FS, error) {
		fsys, err := durable.OpenRoot(dir)
		if dir != s.repo || err != nil {
			return fsys, err
		}
		return plain{fsys}, nil
	}
	s.Service = s.service(t, s.open(t, env))
	done, err := s.Apply(t.Context(), s.order(proposals()...))
	if err != nil || done.Applied != 4 {
		t.Fatalf("%+v, %v", done, err)
	}
	want := map[string]string{"a.txt": "new\n", "new/deep/c.txt": "three\n", "sub/b.txt": "two, too\n"}
	if got := tree(t, s.repo); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: *done.CheckpointID, Actor: human()}); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, s.repo); !maps.Equal(got, base()) {
		t.Errorf("%q", got)
	}
}
