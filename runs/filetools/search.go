package filetools

// Searching files for a pattern.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"ac/internal/fault"
)

const (
	// lineBytes is the length limit of a matching line in the answer, in bytes.
	lineBytes = 400
	// searchPatience is the time limit of a search. It is well below the timeout of agents.
	searchPatience = 30 * time.Second
)

// SearchFiles holds the parameters of Search.
type SearchFiles struct {
	_       struct{} `is:"strict"`
	Pattern string   `json:"pattern"`
	Path    string   `json:"path" is:"default=."`
	Glob    string   `json:"glob,omitempty" is:"optional"`
}

// Search returns the matching lines, in the format "path:line: text".
func (d *Dirs) Search(ctx context.Context, a SearchFiles) (string, error) {
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil {
		return "", fault.InvalidField("pattern", "%s (RE2 syntax)", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if _, err := path.Match(a.Glob, ""); err != nil {
		return "", fault.InvalidField("glob", "must be a pattern such as *.go")
	}
	p, err := d.open(a.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.root.Close() }() // opened for reading only
	limited, done := context.WithTimeout(ctx, searchPatience)
	defer done()
	var out strings.Builder
	err = p.walk(limited, 0, func(name string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || !matchesGlob(a.Glob, name) {
			return nil
		}
		f, err := p.root.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return nil // a removed or unreadable file has no match
		}
		defer func() { _ = f.Close() }() // opened for reading only
		return matches(limited, f, pattern, p.full(d, name), &out)
	})
	switch {
	case err == nil && out.Len() == 0:
		return "[no matches]", nil
	case err == nil:
		return out.String(), nil
	case errors.Is(err, errEnough):
		return out.String() + "[there are more; narrow the pattern, the path or the glob]", nil
	case ctx.Err() == nil && limited.Err() != nil:
		return out.String() + fmt.Sprintf("[gave up after %s; narrow the path or the glob]", searchPatience), nil
	}
	return "", plain(a.Path, err)
}

// matchesGlob reports whether a glob matches a file's name or its whole path.
func matchesGlob(glob, name string) bool {
	if glob == "" {
		return true
	}
	whole, _ := path.Match(glob, name) // Search validated the pattern
	last, _ := path.Match(glob, path.Base(name))
	return whole || last
}

// matches appends the matching lines of one file. A binary file has none.
func matches(ctx context.Context, f io.Reader, pattern *regexp.Regexp, name string, out *strings.Builder) error {
	r := bufio.NewReaderSize(f, 64<<10)
	if head, _ := r.Peek(8 << 10); bytes.IndexByte(head, 0) >= 0 { // reading below returns the error
		return nil
	}
	for n := 1; ; n++ {
		line, _, err := lineOf(ctx, r)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if text := bytes.TrimRight(line, "\r\n"); (len(line) > 0) && pattern.Match(text) {
			found := fmt.Sprintf("%s:%d: %s\n", name, n, bytes.ToValidUTF8(text[:min(len(text), lineBytes)], nil))
			if out.Len()+len(found) > answerBytes {
				return errEnough
			}
			out.WriteString(found)
		}
		if err != nil {
			return nil //nolint:nilerr // end of file, or a read error
		}
	}
}
