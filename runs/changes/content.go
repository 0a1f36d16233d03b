package changes

// The content of changed files, on both sides.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"ac/internal/durable"
	"ac/runs/worktree"
)

// Content is the content of a file on both sides. A side is nil if the file is absent.
type Content struct {
	From, New []byte
	// TooLarge means that a side exceeds MaxFile bytes. Its content may then be missing.
	TooLarge bool
}

// maxBatch bounds the content held in memory at once, in bytes.
const maxBatch = 16 << 20

// Each calls visit for files of the set, in order, with their content. It reads a bounded batch
// at a time. It reads blobs as git would check them out. Files that are not regular have no
// content.
func (s *Set) Each(ctx context.Context, files []File, visit func(File, Content) error) error {
	sizes, err := s.sizes(ctx, files)
	if err != nil {
		return gitFailed(err)
	}
	for at := 0; at < len(files); {
		end, total := at, 0
		for ; end < len(files) && (end == at || total+need(files[end], sizes) <= maxBatch); end++ {
			total += need(files[end], sizes)
		}
		blobs, err := s.blobs(ctx, files[at:end], sizes)
		if err != nil {
			return gitFailed(err)
		}
		for _, f := range files[at:end] {
			c, err := s.content(f, blobs, sizes)
			if err != nil {
				return gitFailed(err)
			}
			if err := visit(f, c); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

// sides returns the ids of the file's blobs to read.
func (f File) sides() (oids []string) {
	if !f.Regular() {
		return nil
	}
	if f.OldMode != "" {
		oids = append(oids, f.old)
	}
	if f.NewMode != "" && f.fresh != "" {
		oids = append(oids, f.fresh)
	}
	return oids
}

func need(f File, sizes map[string]int) (n int) {
	for _, oid := range f.sides() {
		if sizes[oid] <= MaxFile {
			n += sizes[oid]
		}
	}
	return n
}

// sizes queries the sizes of blobs from git.
func (s *Set) sizes(ctx context.Context, files []File) (map[string]int, error) {
	var ask bytes.Buffer
	for _, f := range files {
		for _, oid := range f.sides() {
			fmt.Fprintln(&ask, oid)
		}
	}
	sizes := map[string]int{}
	if ask.Len() == 0 {
		return sizes, nil
	}
	text, err := s.git.Output(ctx, maxList, ask.Bytes(), "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		oid, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, fmt.Errorf("git cat-file: %s", strings.TrimSpace(line))
		}
		sizes[oid] = n
	}
	return sizes, nil
}

// place identifies the content of a blob at a path, whose attributes may convert it. path is ""
// for content without conversion.
type place struct{ oid, path string }

// blobs reads the blobs of files as git would check them out. It skips those larger than
// MaxFile.
func (s *Set) blobs(ctx context.Context, files []File, sizes map[string]int) (map[place][]byte, error) {
	converted, err := s.converted(ctx, files)
	if err != nil {
		return nil, err
	}
	var ask bytes.Buffer
	blobs := map[place][]byte{}
	for _, f := range files {
		for _, oid := range f.sides() {
			switch {
			case sizes[oid] > MaxFile:
			case converted[f.Path]:
				text, err := s.git.Output(ctx, 8*MaxFile, nil, "cat-file", "--filters", "--path="+f.Path, oid)
				if err != nil {
					return nil, err
				}
				blobs[place{oid, f.Path}] = text
			default:
				fmt.Fprintln(&ask, oid)
			}
		}
	}
	if ask.Len() == 0 {
		return blobs, nil
	}
	text, err := s.git.Output(ctx, 2*maxBatch+maxList, ask.Bytes(), "cat-file", "--batch=%(objectname) %(objectsize)")
	if err != nil {
		return nil, err
	}
	for len(text) > 0 {
		head, rest, _ := bytes.Cut(text, []byte{'\n'})
		oid, size, _ := strings.Cut(string(head), " ")
		n, err := strconv.Atoi(size)
		if err != nil || n >= len(rest) {
			return nil, fmt.Errorf("git cat-file: %.200q", head)
		}
		blobs[place{oid: oid}] = rest[:n:n]
		text = rest[n+1:]
	}
	return blobs, nil
}

// converted returns the files whose bytes may differ between a commit and its checkout: those
// with other line endings, another encoding, or a filter.
func (s *Set) converted(ctx context.Context, files []File) (map[string]bool, error) {
	var ask bytes.Buffer
	for _, f := range files {
		ask.WriteString(f.Path + "\x00")
	}
	auto, _ := s.git.Line(ctx, "config", "--type=bool-or-str", "core.autocrlf") // unset: no conversion
	eol, _ := s.git.Line(ctx, "config", "core.eol")
	all := auto == "true" || eol == "crlf"
	text, err := s.git.Output(ctx, maxList, ask.Bytes(), "check-attr", "-z", "--stdin", "eol", "filter", "ident", "working-tree-encoding")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	fields := strings.Split(string(text), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		set := fields[i+2] != "unspecified" && fields[i+2] != "unset"
		found[fields[i]] = found[fields[i]] || all || set
	}
	return found, nil
}

func (s *Set) content(f File, blobs map[place][]byte, sizes map[string]int) (c Content, err error) {
	if !f.Regular() {
		return c, nil
	}
	side := func(oid string) []byte {
		text, ok := blobs[place{oid, f.Path}]
		if !ok {
			text = blobs[place{oid: oid}]
		}
		c.TooLarge = c.TooLarge || sizes[oid] > MaxFile || len(text) > MaxFile
		return text[:len(text):len(text)]
	}
	if f.OldMode != "" {
		c.From = side(f.old)
	}
	switch {
	case f.NewMode == "":
	case s.tree == nil:
		c.New = side(f.fresh)
	default:
		var tooLarge bool
		c.New, tooLarge, err = readTree(s.tree, f.Path)
		c.TooLarge = c.TooLarge || tooLarge
	}
	return c, err
}

// readTree reads a file of a worktree without following symlinks. text is nil if the file no
// longer exists.
func readTree(tree durable.FS, name string) (text []byte, tooLarge bool, err error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if st, err := tree.Lstat(dir); err != nil || !st.IsDir() {
			return nil, false, nil //nolint:nilerr // the file is gone
		}
	}
	st, err := tree.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular():
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case st.Size() > MaxFile:
		return nil, true, nil
	}
	text, err = durable.ReadFile(tree, name, 2*MaxFile)
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, len(text) > MaxFile, err
}

// Patch returns all changes as a patch for git apply, including binary files. The error is
// worktree.ErrTooLong if the patch exceeds limit bytes.
func (s *Set) Patch(ctx context.Context, limit int) ([]byte, error) {
	args := []string{
		"diff", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
		"--submodule=short", "--ignore-submodules=dirty", "--end-of-options", s.Base,
	}
	if s.Tip != "" {
		args = append(args, s.Tip)
	}
	patch, err := s.git.Output(ctx, limit, nil, append(args, "--")...)
	if err != nil {
		return nil, gitFailed(err)
	}
	for _, f := range s.Files {
		if !f.Untracked || f.Nested {
			continue
		}
		text, err := s.untracked(ctx, limit-len(patch), f.Path)
		if err != nil {
			return nil, gitFailed(err)
		}
		patch = append(patch, text...)
	}
	return patch, nil
}

// untracked returns the patch that creates an untracked file.
func (s *Set) untracked(ctx context.Context, limit int, name string) ([]byte, error) {
	text, err := s.git.Output(ctx, limit, nil, "diff", "--no-index", "--binary", "--no-ext-diff", "--no-textconv", "--no-color",
		"--src-prefix=a/", "--dst-prefix=b/", "--", "/dev/null", name)
	if worktree.ExitCode(err) == 1 { // exit code 1 means that the files differ
		err = nil
	}
	return text, err
}
