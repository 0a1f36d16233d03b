// Package page is the page of the control room: one document with its styles
// and script inside, joined from the sources in this directory. It has no build
// step and loads nothing from other hosts.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Boot marks where the server inserts the initial data of the page:
//
//	<script type="application/json" id="boot">{…}</script>
const Boot = "<!--boot-->"

// Markers in index.html for the joined sources.
const (
	stylePlace  = "<!--style-->"
	scriptPlace = "<!--script-->"
)

//go:embed index.html favicon.svg css/*.css js/*.js
var sources embed.FS

// Document returns the page and the hashes of its one script and its one style element, in the form
// of a Content-Security-Policy ('sha256-…', quotes included). It returns the same page at every
// call, which contains Boot exactly once. Sources are joined in the order of their names. Errors
// name the invalid source. A build whose tests passed has none.
func Document() (html []byte, scriptHash, styleHash string, err error) {
	index, err := sources.ReadFile("index.html")
	if err != nil {
		return nil, "", "", err
	}
	style, err := join(sources, "css", "</style")
	if err != nil {
		return nil, "", "", err
	}
	modules, err := join(sources, "js", "</script")
	if err != nil {
		return nil, "", "", err
	}
	script := slices.Concat([]byte("'use strict';\n{\n"), modules, []byte("}\n"))
	html, err = fill(index, stylePlace, element("style", style))
	if err != nil {
		return nil, "", "", err
	}
	html, err = fill(html, scriptPlace, element("script", script))
	if err != nil {
		return nil, "", "", err
	}
	if n := bytes.Count(html, []byte(Boot)); n != 1 {
		return nil, "", "", fmt.Errorf("index.html holds %s %d times instead of once", Boot, n)
	}
	return html, hash(script), hash(style), nil
}

// Icon returns the page's icon as SVG.
func Icon() ([]byte, error) { return sources.ReadFile("favicon.svg") }

// join joins the files of one folder, in the order of their names, each under a comment with its
// name. It refuses a source that could end its element. It also refuses one that browsers
// normalize, because its hash would not match.
func join(files fs.FS, folder, end string) ([]byte, error) {
	list, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var joined bytes.Buffer
	for _, entry := range list {
		name := path.Join(folder, entry.Name())
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if err := check(source, end); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&joined, "/* %s */\n%s\n", name, bytes.TrimSpace(source))
	}
	return joined.Bytes(), nil
}

// check refuses sources that HTML parsing would change.
func check(source []byte, end string) error {
	text := string(source)
	switch {
	case strings.Contains(strings.ToLower(text), end):
		return fmt.Errorf("%q ends the element", end)
	case strings.Contains(text, "<!--"):
		return errors.New("a comment of HTML changes how a script is read")
	case strings.ContainsAny(text, "\r\x00"):
		return errors.New("a browser replaces carriage returns and zero bytes")
	}
	return nil
}

func element(name string, content []byte) []byte {
	return fmt.Appendf(nil, "<%s>%s</%s>", name, content, name)
}

func fill(html []byte, place string, content []byte) ([]byte, error) {
	before, after, found := bytes.Cut(html, []byte(place))
	if !found {
		return nil, fmt.Errorf("index.html has no %s", place)
	}
	return slices.Concat(before, content, after), nil
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
