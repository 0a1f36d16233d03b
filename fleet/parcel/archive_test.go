package parcel

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/durable"
	"ac/internal/durable/faultfs"
	"ac/internal/redact"
)

func openRoot(t *testing.T, dir string) *durable.Root {
	t.Helper()
	root, err := durable.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// lay creates files below a directory. A name that ends in "/" is a directory.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// lying reads all files below a directory. Names of directories end in "/" and have no content.
func lying(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, at)
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			found[name+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(at)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func nothing(string) bool { return false }

func TestPackThenUnpack(t *testing.T) {
	t.Parallel()
	outputs, work, here := t.TempDir(), t.TempDir(), t.TempDir()
	lay(t, outputs, map[string]string{"report.md": "ours", "empty/": "", "tool": "#!", "late/x": "no", "sub/a": "from outputs"})
	lay(t, work, map[string]string{"report.md": "theirs", "sub/b.txt": "b", "sub/c.bin": "c", "deep/er/x.txt": "x", "whole/y": "y", "not": "this", "tool/z": "below a file"})
	if err := errors.Join(os.Chmod(filepath.Join(outputs, "tool"), 0o755), os.Symlink("/etc/passwd", filepath.Join(work, "whole", "link"))); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	packed, err := Pack(t.Context(), &archive, []Source{
		{FS: openRoot(t, outputs), Dir: ".", Skip: func(name string) bool { return name == "late" }},
		{FS: openRoot(t, work), Dir: ".", Globs: []string{"*.md", "**.txt", "whole/", "tool/**"}},
	}, DefaultLimits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (PackResult{Files: 6, Bytes: 4 + 2 + 12 + 1 + 1 + 1, Skipped: 2}); packed != want {
		t.Errorf("packed %+v, want %+v", packed, want)
	}
	root := openRoot(t, here)
	for range 2 { // unpacking is idempotent
		done, err := Unpack(root, "outputs", bytes.NewReader(archive.Bytes()), DefaultLimits(), func(name string) bool { return name == "sub/a" })
		if want := (UnpackResult{Files: 5, Bytes: 9, Skipped: 1}); err != nil || done != want {
			t.Errorf("unpacked %+v, %v, want %+v", done, err, want)
		}
	}
	want := map[string]string{
		"outputs/": "", "outputs/deep/": "", "outputs/deep/er/": "", "outputs/deep/er/x.txt": "x", "outputs/empty/": "", "outputs/report.md": "ours",
		"outputs/sub/": "", "outputs/sub/b.txt": "b", "outputs/tool": "#!", "outputs/whole/": "", "outputs/whole/y": "y",
	}
	if diff := cmp.Diff(want, lying(t, here)); diff != "" {
		t.Error(diff)
	}
	if st, err := os.Stat(filepath.Join(here, "outputs", "tool")); err != nil || st.Mode()&0o100 == 0 {
		t.Errorf("the program is not executable: %v, %v", st, err)
	}
}

func TestPackMasksSecretsAndKeepsTheLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("x", 64<<10-3) + "hunter22" + strings.Repeat("y", 9) // spans the boundary of two chunks
	lay(t, dir, map[string]string{"a": long, "b": "hunter22", "c": strings.Repeat("z", 100_000), "d": "d"})
	secrets := &redact.Values{}
	secrets.Learn("hunter22")
	var archive bytes.Buffer
	packed, err := Pack(t.Context(), &archive, []Source{{FS: openRoot(t, dir), Dir: "."}}, Limits{Entries: 3, Bytes: 100_000}, secrets)
	if err != nil || packed.Files != 3 || packed.Skipped != 1 {
		t.Fatalf("packed %+v, %v", packed, err)
	}
	here := t.TempDir()
	if _, err := Unpack(openRoot(t, here), "o", bytes.NewReader(archive.Bytes()), DefaultLimits(), nothing); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"o/": "", "o/a": strings.ReplaceAll(long, "hunter22", redact.Mask), "o/b": redact.Mask, "o/d": "d"}
	if diff := cmp.Diff(want, lying(t, here)); diff != "" {
		t.Error(diff)
	}
	archive.Reset()
	packed, err = Pack(t.Context(), &archive, []Source{{FS: openRoot(t, dir), Dir: "."}}, Limits{Entries: 2, Bytes: 1 << 20}, nil)
	if err != nil || packed.Files != 2 || packed.Skipped != 2 {
		t.Errorf("packed %+v, %v, want two of four", packed, err)
	}
	if packed, err = Pack(t.Context(), &archive, []Source{{FS: openRoot(t, dir), Dir: "missing"}}, DefaultLimits(), nil); err != nil || packed != (PackResult{}) {
		t.Errorf("a directory that is missing: %+v, %v", packed, err)
	}
}

// archiveOf writes an archive with these headers, as a hostile worker may.
func archiveOf(t *testing.T, headers ...*tar.Header) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func TestUnpackRefusesHostileArchives(t *testing.T) {
	t.Parallel()
	file := func(name string, size int64) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatPAX}
	}
	odd := func(kind byte, name, link string) *tar.Header {
		return &tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: 0o644, Format: tar.FormatPAX}
	}
	cut := archiveOf(t, file("a", 4000))
	torn := make([]byte, 3000)
	if _, err := cut.ReadAt(torn, 0); err != nil {
		t.Fatal(err)
	}
	many := []*tar.Header{}
	for i := range 11 {
		many = append(many, file(string(rune('a'+i)), 0))
	}
	for name, archive := range map[string]*bytes.Reader{
		"absolute":          archiveOf(t, file("/etc/x", 1)),
		"leaving":           archiveOf(t, file("../x", 1)),
		"leaving inside":    archiveOf(t, file("a/../../x", 1)),
		"dot":               archiveOf(t, file("./x", 1)),
		"empty":             archiveOf(t, file("ok", 1), odd(tar.TypeDir, "/", "")),
		"backslash":         archiveOf(t, file(`a\b`, 1)),
		"control":           archiveOf(t, file("a\nb", 1)),
		"no text":           archiveOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "a\xff", Format: tar.FormatGNU}),
		"long step":         archiveOf(t, file(strings.Repeat("a", 256), 1)),
		"deep":              archiveOf(t, file(strings.Repeat("a/", 64)+"b", 1)),
		"symlink":           archiveOf(t, odd(tar.TypeSymlink, "l", "/etc")),
		"through a link":    archiveOf(t, odd(tar.TypeSymlink, "l", "/etc"), file("l/x", 1)),
		"hard link":         archiveOf(t, file("a", 1), odd(tar.TypeLink, "b", "a")),
		"character device":  archiveOf(t, odd(tar.TypeChar, "d", "")),
		"block device":      archiveOf(t, odd(tar.TypeBlock, "d", "")),
		"fifo":              archiveOf(t, odd(tar.TypeFifo, "f", "")),
		"twice":             archiveOf(t, file("a", 1), file("a", 2)),
		"file as directory": archiveOf(t, file("a", 1), file("a/b", 1)),
		"directory as file": archiveOf(t, file("a/b", 1), file("a", 1)),
		"too many entries":  archiveOf(t, many...),
		"too many bytes":    archiveOf(t, file("a", 600), file("b", 401)),
		"torn":              bytes.NewReader(torn),
		"no archive":        bytes.NewReader(bytes.Repeat([]byte("no archive "), 200)),
		"a link at the end": archiveOf(t, file("a", 1), odd(tar.TypeSymlink, "l", "a")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			done, err := Unpack(openRoot(t, here), "outputs", archive, Limits{Entries: 10, Bytes: 1000}, nothing)
			if !errors.Is(err, ErrRefused) || done != (UnpackResult{}) {
				t.Errorf("unpacked %+v, %v", done, err)
			}
			if found := lying(t, here); len(found) > 0 {
				t.Errorf("something was written: %v", found)
			}
		})
	}
}

func TestUnpackFollowsNoLinkThatStands(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(here, outside string) error{
		"on the way": func(here, outside string) error { return os.Symlink(outside, filepath.Join(here, "o", "sub")) },
		"inside":     func(here, _ string) error { return os.Symlink("other", filepath.Join(here, "o", "sub")) },
		"the file": func(here, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(here, "o", "sub"), 0o755), os.Symlink(filepath.Join(outside, "f"), filepath.Join(here, "o", "sub", "f")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, outside := t.TempDir(), t.TempDir()
			lay(t, here, map[string]string{"o/other/": ""})
			lay(t, outside, map[string]string{"f": "stays"})
			if err := prepare(here, outside); err != nil {
				t.Fatal(err)
			}
			archive := archiveOf(t, &tar.Header{Typeflag: tar.TypeReg, Name: "sub/f", Size: 3, Format: tar.FormatPAX})
			if _, err := Unpack(openRoot(t, here), "o", archive, DefaultLimits(), nothing); err == nil {
				t.Error("it was unpacked")
			}
			if diff := cmp.Diff(map[string]string{"f": "stays"}, lying(t, outside)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnpackFaults makes each file system call fail once. No torn file is left under a name of the
// archive, and a second Unpack completes the work.
func TestUnpackFaults(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	files := map[string]string{"a": strings.Repeat("a", 5000), "sub/b": "b"}
	lay(t, from, files)
	var archive bytes.Buffer
	if _, err := Pack(t.Context(), &archive, []Source{{FS: openRoot(t, from), Dir: "."}}, DefaultLimits(), nil); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death} {
		failed := 0
		for n := 1; ; n++ {
			here := t.TempDir()
			plan := faultfs.NewPlan(n, kind)
			fsys, err := plan.Open(here)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Unpack(fsys, "o", bytes.NewReader(archive.Bytes()), DefaultLimits(), nothing)
			_ = fsys.Close() // it may be dead
			for name, content := range lying(t, here) {
				if whole, ours := files[strings.TrimPrefix(name, "o/")]; ours && content != whole {
					t.Errorf("call %d: %s is torn", n, name)
				}
			}
			if plan.Hit() == "" {
				break
			}
			if err != nil {
				failed++
			}
			if _, err := Unpack(openRoot(t, here), "o", bytes.NewReader(archive.Bytes()), DefaultLimits(), nothing); err != nil {
				t.Fatal(err)
			}
			found := lying(t, here)
			names := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(name string) bool { return strings.HasSuffix(name, "/") })
			if !slices.Equal(names, []string{"o/a", "o/sub/b"}) {
				t.Errorf("call %d: %v", n, names)
			}
		}
		if failed < 5 {
			t.Errorf("%s: only %d calls failed", kind, failed)
		}
	}
}

func TestReceiveChecksDigestAndSize(t *testing.T) {
	t.Parallel()
	want, err := Measure(strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sent string
		ok   bool
	}{"whole": {"content", true}, "short": {"conten", false}, "long": {"contents", false}, "other": {"c0ntent", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			err := Receive(openRoot(t, here), "f", strings.NewReader(c.sent), want)
			if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrDamaged)) {
				t.Errorf("Receive: %v", err)
			}
			if found := lying(t, here); (len(found) == 1) != c.ok {
				t.Errorf("it left %v", found)
			}
		})
	}
}
