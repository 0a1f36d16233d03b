package workspace

// Reading documents by type, with a cache that is only trusted while the file
// is provably the one that was read.

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// documents remembers parsed documents by name and version.
type documents struct {
	mu   sync.Mutex
	seen map[string]cached
}

type cached struct {
	version durable.Version
	doc     any
}

// maxCached bounds the cache; over it, everything is forgotten at once.
const maxCached = 50_000

func newDocuments() *documents { return &documents{seen: map[string]cached{}} }

func (d *documents) get(name string) (c cached, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok = d.seen[name]
	return c, ok
}

func (d *documents) put(name string, v durable.Version, doc any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.seen) >= maxCached {
		clear(d.seen)
	}
	d.seen[name] = cached{version: v, doc: doc}
}

// Load reads a document of a type. Missing: fault.NotFound. Unreadable or not
// fitting: fault.InvalidFile, naming the file and each fault. The document may
// be shared: it is not to be changed.
func Load[T any](w *Workspace, codec yamldoc.Codec[T], name string) (T, error) {
	return load(w, name, func(text []byte) (T, error) { return Decode(codec, name, text) })
}

// LoadEach reads the document of a name in each of these directories of dir, as
// Load does, and makes a row of it; those that cannot be read are passed over.
// Documents that were read before cost a look each, relative to dir.
func LoadEach[T, R any](w *Workspace, codec yamldoc.Codec[T], dir string, ids []string, name string, row func(T) R) []R {
	in, _ := durable.OpenDir(w.FS, dir) // without it each is looked at by its path
	if in != nil {
		defer in.Close()
	}
	return ReadEach(ids, func(id string) (r R, err error) {
		file := dir + "/" + id + "/" + name
		document, known := unchanged[T](w, in, file, file[len(dir)+1:])
		if !known {
			if document, err = Load(w, codec, file); err != nil {
				return r, err
			}
		}
		return row(document), nil
	})
}

// unchanged gives the document as it was decoded before, when one look tells that
// its file is the same.
func unchanged[T any](w *Workspace, in *durable.Dir, file, below string) (document T, ok bool) {
	known, ok := w.docs.get(file)
	if !ok || in == nil {
		return document, false
	}
	if document, ok = known.doc.(T); !ok {
		return document, false
	}
	v, kind, err := in.Look(below)
	return document, err == nil && kind.IsRegular() && v == known.version
}

// LoadWith is Load for documents that are read in their own way. What decode
// gives is remembered, with everything it holds.
func LoadWith[T any](w *Workspace, name string, decode func(text []byte) (T, error)) (T, error) {
	return load(w, name, decode)
}

// LoadAmong reads the wanted documents of a directory whose files have an
// extension, in the order of their names. A document that was read before and was
// not wanted is passed over by what it was then: this is for records that do not
// turn into others. What is no file is passed over; one that is there
// and cannot be read is an error, since it could be wanted.
func LoadAmong[T any](w *Workspace, dir, extension string, decode func(file string, text []byte) (T, error), wanted func(T) bool) ([]T, error) {
	names, err := Files(w.FS, dir, extension)
	if err != nil {
		return nil, err
	}
	unread := make(chan error, 1) // the first is enough
	documents := ReadEach(names, func(name string) (document T, err error) {
		file := path.Join(dir, name)
		if known, ok := w.docs.get(file); ok {
			if before, ok := known.doc.(T); ok && !wanted(before) {
				return document, errUnwanted
			}
		}
		document, err = load(w, file, func(text []byte) (T, error) { return decode(file, text) })
		if err == nil && !wanted(document) {
			return document, errUnwanted
		}
		if err != nil && w.couldBeRead(file) {
			select {
			case unread <- err:
			default:
			}
		}
		return document, err
	})
	select {
	case err := <-unread:
		return nil, err
	default:
		return documents, nil
	}
}

// couldBeRead reports whether what is at a name may be a document: not what is
// gone, no file, or a link that leads out of the workspace or nowhere.
func (w *Workspace) couldBeRead(name string) bool {
	link, err := w.FS.Lstat(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	st, err := w.FS.Stat(name)
	if err != nil {
		return link.Mode()&fs.ModeSymlink == 0
	}
	return st.Mode().IsRegular()
}

var errUnwanted = errors.New("a document that is not wanted")

// load gives the document as it was decoded before, while its file is the same,
// and else reads it.
func load[T any](w *Workspace, name string, decode func(text []byte) (T, error)) (doc T, err error) {
	if known, ok := w.docs.get(name); ok {
		if same, ok := known.doc.(T); ok { // else it was read as something else, and is read again
			if st, err := w.present(name); err == nil && durable.VersionOf(st) == known.version {
				return same, nil
			}
		}
	}
	text, st, err := readDocumentInfo(w.FS, name)
	if err != nil {
		return doc, err
	}
	if doc, err = decode(text); err != nil {
		return doc, err
	}
	if v := durable.VersionOf(st); v.Settled(w.Env.Clock.Now()) {
		w.docs.put(name, v, doc)
	}
	return doc, nil
}

// present describes the file at a name, to tell whether it is one that was read
// before. It is asked for by path, which costs a seventh of the way through the
// root: what is another file, wherever that lies, is then read through the root.
func (w *Workspace) present(name string) (fs.FileInfo, error) {
	st, err := os.Lstat(w.dir + string(filepath.Separator) + filepath.FromSlash(name))
	if err != nil || !st.Mode().IsRegular() {
		return w.FS.Stat(name)
	}
	return st, nil
}

// Decode reads a document from text that is at hand; name is for errors.
func Decode[T any](codec yamldoc.Codec[T], name string, text []byte) (T, error) {
	doc, err := codec.Decode(text)
	if err != nil {
		return doc, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	return doc, nil
}

// Carries checks that a document found by id carries that id.
func Carries(name, want, got string) error {
	if want != got {
		return fault.New(fault.InvalidFile, "%s carries the id %s instead of %s", name, got, want)
	}
	return nil
}

// Dirs lists the names of the directories in a directory that are not hidden,
// sorted. A missing directory has none.
func Dirs(fsys durable.FS, dir string) ([]string, error) {
	return list(fsys, dir, func(e fs.DirEntry) bool { return e.IsDir() || isLinkTo(fsys, dir, e, fs.ModeDir) })
}

// Files lists the names of the files in a directory that are not hidden and
// have an extension, sorted. A missing directory has none.
func Files(fsys durable.FS, dir, extension string) ([]string, error) {
	names, err := fsys.ReadNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.IO, "%s cannot be listed: %w", dir, err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, ".") || path.Ext(name) != extension
	}), nil
}

func list(fsys durable.FS, dir string, keep func(fs.DirEntry) bool) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.IO, "%s cannot be listed: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && keep(e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isLinkTo reports whether an entry is a symlink to something of a kind inside
// the workspace.
func isLinkTo(fsys durable.FS, dir string, e fs.DirEntry, kind fs.FileMode) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	st, err := fsys.Stat(path.Join(dir, e.Name()))
	return err == nil && st.Mode().Type() == kind
}

// LoadHead reads the front matter of a markdown record, as Load reads a
// document.
func LoadHead[T any](w *Workspace, codec yamldoc.Codec[T], name string) (T, error) {
	return load(w, name, func(text []byte) (doc T, err error) {
		head, _, err := frontmatter.Split(text)
		if err != nil {
			return doc, fault.New(fault.InvalidFile, "%s: %w", name, err)
		}
		return Decode(codec, name, head)
	})
}
