package policy

// Resources: the strings that rules match.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/shellwords"
	"ac/workspace/doc"
)

// Links reads one symbolic link. link is false if the path is not a link. The error is
// fs.ErrNotExist if the path does not exist.
type Links func(path string) (target string, link bool, err error)

// ReadLink reads links in this machine's file system.
func ReadLink(path string) (target string, link bool, err error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false, err
	}
	target, err = os.Readlink(path)
	return target, true, err
}

// Command returns the access for executing a command line. Its resource is "" if the command
// line is unknown.
func Command(line string) Access {
	return Access{Operation: doc.OpExec, Resource: shellwords.Unwrap(line)}
}

// Root is the working directory of a session, against which its paths are resolved.
type Root struct {
	dir   string
	links Links
}

// NewRoot returns the root for an absolute directory. It fails if it cannot follow the
// directory's links.
func NewRoot(dir string, links Links) (Root, error) {
	resolved, err := resolve(dir, links)
	return Root{dir: resolved, links: links}, err
}

// Accesses returns the accesses for reading or writing a path, which may be relative to the
// root. It returns two if .. follows a link: depending on the reader, such a path names either
// of two files. A resource inside the root is relative to it, all others are absolute. A
// resource is "" if the path is unknown or cannot be resolved.
func (r Root) Accesses(op doc.Operation, path string) []Access {
	first := Access{Operation: op, Resource: r.resource(path, true)}
	second := Access{Operation: op, Resource: r.resource(path, false)}
	if first == second {
		return []Access{first}
	}
	return []Access{first, second}
}

// resource returns the resource of a path. With clean, it removes each .. together with the name
// before it, as most programs do before they open a file. Otherwise it follows links first, as
// the operating system does.
func (r Root) resource(path string, clean bool) string {
	if path == "" || strings.ContainsRune(path, 0) {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = r.dir + string(filepath.Separator) + path
	}
	if clean {
		path = filepath.Clean(path)
	}
	found, err := resolve(path, r.links)
	if err != nil {
		return ""
	}
	if rel, err := filepath.Rel(r.dir, found); err == nil && filepath.IsLocal(rel) {
		found = rel
	}
	return filepath.ToSlash(found)
}

// maxLinks bounds the links that a path may traverse. Linux has the same limit.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links")

// resolve follows the links in an absolute path, as far as the path exists.
func resolve(path string, links Links) (string, error) {
	const slash = string(filepath.Separator)
	volume := filepath.VolumeName(path)
	done := volume + slash
	left := strings.Split(path[len(volume):], slash)
	for followed := 0; len(left) > 0; {
		name := left[0]
		left = left[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		target, link, err := links(filepath.Join(done, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // below a missing directory, nothing is a link
		}
		if err != nil {
			return "", err
		}
		if !link {
			done = filepath.Join(done, name)
			continue
		}
		if followed++; followed > maxLinks {
			return "", errTooManyLinks
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			done, target = volume+slash, target[len(volume):]
		}
		left = slices.Concat(strings.Split(target, slash), left)
	}
	return done, nil
}
