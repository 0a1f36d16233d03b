package policy

// Resources: what the rules are held against.

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

// Links reads one symbolic link: where it leads, and whether the path is a link
// at all. The error is fs.ErrNotExist where there is nothing.
type Links func(path string) (target string, link bool, err error)

// ReadLink reads the links of this machine.
func ReadLink(path string) (target string, link bool, err error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false, err
	}
	target, err = os.Readlink(path)
	return target, true, err
}

// Command is the access of executing a command line, "" for one that is not
// known.
func Command(line string) Access {
	return Access{Operation: doc.OpExec, Resource: shellwords.Unwrapped(line)}
}

// Root is the working directory of a session, from which its paths are resolved.
type Root struct {
	dir   string
	links Links
}

// NewRoot makes the root of an absolute directory. The error is one of following
// its links.
func NewRoot(dir string, links Links) (Root, error) {
	resolved, err := resolve(dir, links)
	return Root{dir: resolved, links: links}, err
}

// Accesses are those of reading or writing a path, which may be relative to the
// root. There are two where a .. stands behind a link and its reader may mean
// either of two files. The resource is relative to the root inside of it, else
// absolute, and "" for a path that is not known or cannot be followed.
func (r Root) Accesses(op doc.Operation, path string) []Access {
	first := Access{Operation: op, Resource: r.resource(path, true)}
	second := Access{Operation: op, Resource: r.resource(path, false)}
	if first == second {
		return []Access{first}
	}
	return []Access{first, second}
}

// resource is a path as the rules see it. Clean removes each .. with the name
// before it, as most programs do before they open a file; otherwise links are
// followed first, as the system does.
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

// maxLinks is how many links a path may lead over, as for the system.
const maxLinks = 40

var errTooManyLinks = errors.New("too many symbolic links")

// resolve follows the links of an absolute path as far as it exists.
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
			err = nil // nothing is a link below what is not there
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
