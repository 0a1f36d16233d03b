package comma

// Strategy files: the folders from which they may be read, and reading them.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"path/filepath"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/lazyregexp"
	"ac/internal/param"
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

const (
	maxStrategy = 1 << 20
	maxPrompt   = 32 << 10 // of a system prompt
	// codePrepare is the error code of a failed preparation.
	codePrepare = "PREPARE_FAILED"
)

// folders are the roots below which strategies may be.
type folders []string

// source is a strategy file below a root. Its prompt files must be below the same root.
type source struct {
	root *durable.Root
	rel  string
	path string // absolute, as the client gave it
}

// absolute returns a client's path as an absolute one. It is relative to the client's directory.
func absolute(path, cwd, workspace string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(workspace, cwd)
	}
	return filepath.Join(cwd, path)
}

// open finds the root that contains a path, with links resolved. The caller must close the source.
func (f folders) open(path string) (source, error) {
	target := resolved(path)
	for _, dir := range f {
		base, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue // a missing folder has no strategies
		}
		rel, err := filepath.Rel(base, target)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		root, err := durable.OpenRoot(base)
		if err != nil {
			continue
		}
		return source{root, filepath.ToSlash(rel), path}, nil
	}
	return source{}, fail(codePrepare, "Strategy path is outside the folders this server reads: %s; start it with --strategies", path)
}

// resolved returns a path with the links in its existing part resolved.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	dir, base := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path || base == "" {
		return path
	}
	return filepath.Join(resolved(dir), base)
}

// notFound is the error for missing and for unreadable files alike, so that it does not reveal which
// files exist.
func notFound(path string) error {
	return fail(codePrepare, "Strategy file not found: %s", path)
}

// read reads and parses the strategy file.
func (s source) read() (shape.Value, error) {
	ext := strings.ToLower(filepath.Ext(s.rel))
	if !slices.Contains([]string{".json", ".jsonc", ".yaml", ".yml"}, ext) {
		return shape.Value{}, fail(codePrepare, "Unsupported strategy file extension: %s. Use .json, .jsonc, .yaml, or .yml.", ext)
	}
	text, err := durable.ReadFile(s.root, s.rel, maxStrategy)
	if err != nil {
		return shape.Value{}, notFound(s.path)
	}
	if strings.HasPrefix(ext, ".y") {
		value, err := yamldoc.Parse(text)
		if err != nil {
			return value, fail(codePrepare, "Failed to parse strategy YAML%s", yamlPlace(err))
		}
		return value, nil
	}
	plain := plainJSON(text)
	if at, err := faultOf(plain); err != nil {
		line, column := placeIn(text, at)
		return shape.Value{}, fail(codePrepare, "Failed to parse strategy JSON: line %d, column %d", line, column)
	}
	return param.Parse(plain), nil
}

// faultOf returns the offset and the error of the first syntax error in a text.
func faultOf(text []byte) (at int64, err error) {
	var v json.RawMessage
	err = json.Unmarshal(text, &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(0, syntax.Offset-1), err
	}
	return 0, err
}

// placeIn returns the line and the column of an offset, in characters from 1.
func placeIn(text []byte, at int64) (line, column int) {
	before := string(text[:min(at, int64(len(text)))])
	line = 1 + strings.Count(before, "\n")
	return line, 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

var yamlLine = lazyregexp.New(`line (\d+)`)

// yamlPlace returns only the line number in an error about YAML. The rest of the error may contain
// text from the file.
func yamlPlace(err error) string {
	if found := yamlLine().FindStringSubmatch(err.Error()); found != nil {
		return ": line " + found[1]
	}
	return ""
}

// prompt reads a prompt file, relative to the strategy's folder and below its root.
func (s source) prompt(name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(filepath.FromSlash(s.rel)), name)
	} else if rel, err := filepath.Rel(s.root.Path(), resolved(filepath.Clean(path))); err == nil {
		path = rel
	}
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("prompt file not found: %s", name)
	}
	text, err := durable.ReadFile(s.root, filepath.ToSlash(path), maxPrompt)
	if err != nil {
		return "", fmt.Errorf("prompt file not found: %s", name)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func (s source) close() { _ = s.root.Close() } // opened only for reading

// plainJSON blanks out comments and trailing commas in JSON, so that offsets stay the same.
func plainJSON(text []byte) []byte {
	out := slices.Clone(text)
	comma := -1 // the last one with only blanks after it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// blankComment blanks out the comment at i and returns the index of its last byte.
func blankComment(out []byte, i int) int {
	end := bytes.Index(out[i+2:], []byte("*/"))
	if end < 0 {
		return len(out) // an unclosed comment is not JSON
	}
	for end += i + 4; i < end; i++ {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return end - 1
}
