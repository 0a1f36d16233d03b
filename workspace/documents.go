package workspace

// Reading documents by type, through a cache that is used only while the file is provably
// unchanged.

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/filecache"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// Load reads a document. It returns fault.NotFound for a missing file. For an unreadable or
// invalid one it returns fault.InvalidFile, which names the file and every problem in it.
// Other readers may share the document, so the caller must not change it.
func Load[T any](w *Workspace, codec yamldoc.Codec[T], name string) (T, error) {
	return load(w, filecache.StatAt(w.FS), name, func(text []byte) (T, error) { return Decode(codec, name, text) })
}

// LoadWith is Load with the caller's decoder. The cache retains what decode returns and
// everything it references.
func LoadWith[T any](w *Workspace, name string, decode func(text []byte) (T, error)) (T, error) {
	return load(w, filecache.StatAt(w.FS), name, decode)
}

// LoadAmong reads the wanted documents among a directory's files with an extension, in name
// order. A document that was unwanted when it was cached is skipped without checking its
// file, so use this only for records that never become wanted later. Directories and other
// non-files are skipped. A file that cannot be read is an error, since it might be wanted.
func LoadAmong[T any](w *Workspace, dir, extension string, decode func(file string, text []byte) (T, error), wanted func(T) bool) ([]T, error) {
	names, err := Files(w.FS, dir, extension)
	if err != nil {
		return nil, err
	}
	unread := make(chan error, 1) // the first error is enough
	documents := ReadEach(names, func(name string) (document T, err error) {
		file := path.Join(dir, name)
		if known, _, ok := w.docs.Last(file); ok {
			if before, ok := known.(T); ok && !wanted(before) {
				return document, errUnwanted
			}
		}
		document, err = load(w, filecache.StatAt(w.FS), file, func(text []byte) (T, error) { return decode(file, text) })
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

// couldBeRead reports whether a name may be a document. It may not if it is missing, not a
// regular file, or a symlink that dangles or leaves the workspace.
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

// LoadFolders reads one document from each subdirectory of dir, in the order of the ids,
// which are the subdirectories' names. It skips documents that cannot be read and those that
// of rejects. file returns the path of an id's document, directly in its directory. of is
// called from several goroutines.
func LoadFolders[D, T any](w *Workspace, codec yamldoc.Codec[D], dir string, file func(id string) string, of func(id string, document D) (T, error)) ([]T, error) {
	found, err := w.folders(dir)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	from, done := filecache.StatEntries(w.FS, dir)
	defer done()
	return ReadEach(found, func(e durable.Entry) (none T, err error) {
		name := file(e.Name)
		document, err := load(w, from(e), name, func(text []byte) (D, error) { return Decode(codec, name, text) })
		if err != nil {
			return none, err
		}
		return of(e.Name, document)
	}), nil
}

// load returns the cached document while see reports its file as unchanged;
// otherwise it reads the file.
func load[T any](w *Workspace, see filecache.StatFunc, name string, decode func(text []byte) (T, error)) (doc T, err error) {
	if known, of, ok := w.docs.Last(name); ok {
		if same, ok := known.(T); ok { // otherwise it was cached as another type: read it again
			if version, _, err := see(name); err == nil && version == of {
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
	if v := durable.VersionOf(st); v.Cacheable(w.FS, w.Env.Clock.Now()) {
		w.docs.Put(name, v, doc)
	}
	return doc, nil
}

// Decode decodes a document. name is used in errors.
func Decode[T any](codec yamldoc.Codec[T], name string, text []byte) (T, error) {
	doc, err := codec.Decode(text)
	if err != nil {
		return doc, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	return doc, nil
}

// CheckID checks that a document found by id contains that id.
func CheckID(name, want, got string) error {
	if want != got {
		return fault.New(fault.InvalidFile, "%s carries the id %s instead of %s", name, got, want)
	}
	return nil
}

// Dirs lists the directories in a directory that are not hidden, sorted by name. A missing
// directory yields none.
func Dirs(fsys durable.FS, dir string) ([]string, error) {
	_, entries, err := filecache.ReadDir(fsys, dir)
	found, err := folders(fsys, dir, entries, err)
	names := make([]string, 0, len(found))
	for _, e := range found {
		names = append(names, e.Name)
	}
	return names, err
}

// folders is Dirs with the cached listing of an open workspace.
func (w *Workspace) folders(dir string) ([]durable.Entry, error) {
	entries, err := w.Listings.List(w.FS, filecache.StatAt(w.FS), dir, w.Env.Clock.Now)
	return folders(w.FS, dir, entries, err)
}

// folders returns the entries of a listing that are directories and not hidden. A missing
// directory yields none.
func folders(fsys durable.FS, dir string, entries []durable.Entry, err error) (found []durable.Entry, _ error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.IO, "%s cannot be listed: %w", dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name, ".") && (e.Type.IsDir() || durable.LinksTo(fsys, dir, e, fs.ModeDir)) {
			found = append(found, e)
		}
	}
	return found, nil
}

// Files lists the files in a directory that are not hidden and have an extension, sorted by
// name. A missing directory yields none.
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

// LoadHead reads the front matter of a markdown record, as Load reads a
// document.
func LoadHead[T any](w *Workspace, codec yamldoc.Codec[T], name string) (T, error) {
	return load(w, filecache.StatAt(w.FS), name, func(text []byte) (doc T, err error) {
		head, _, err := frontmatter.Split(text)
		if err != nil {
			return doc, fault.New(fault.InvalidFile, "%s: %w", name, err)
		}
		return Decode(codec, name, head)
	})
}
