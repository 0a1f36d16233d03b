package web

// /v/: the libraries of other projects that the page loads. They are embedded at their pinned
// versions. Their addresses contain their hash, so browsers may cache them forever.

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"ac/internal/vendored"
)

// libraries holds the vendored files, compressed by gzip, their list and their licenses.
//
//go:embed vendor/vendor.json vendor/*@*/LICENSE vendor/@*/*@*/LICENSE
//go:embed vendor/*@*/*.gz vendor/*@*/*/*.gz vendor/@*/*@*/*/*.gz vendor/@*/*@*/*/*/*.gz
var libraries embed.FS

// Libraries returns the libraries of this build, and the texts of their licenses by name.
func Libraries() (list []vendored.Library, licenses map[string]string, err error) {
	files, err := fs.Sub(libraries, "vendor")
	if err != nil {
		return nil, nil, err
	}
	if list, err = vendored.Read(files); err != nil {
		return nil, nil, err
	}
	licenses = map[string]string{}
	for _, l := range list {
		text, err := fs.ReadFile(files, path.Join(l.Folder(), vendored.License))
		if err != nil {
			return nil, nil, err
		}
		licenses[l.Name] = string(text)
	}
	return list, licenses, nil
}

// loadable describes a vendored file to the page.
type loadable struct {
	Library   string `json:"library"`
	Name      string `json:"name"` // of the file
	Kind      string `json:"kind"` // script, module or style
	Src       string `json:"src"`
	Integrity string `json:"integrity"`
}

// asset is the served form of a vendored file.
type asset struct {
	packed      []byte // by gzip
	contentType string
}

const (
	// assetPath begins the addresses of vendored files.
	assetPath = "/v/"
	// hashDigits is how many digits of the hash are in the address.
	hashDigits = 16
)

// newAssets returns the vendored files by address, and the list of them for the page.
func newAssets() (assets map[string]asset, list []loadable, err error) {
	known, _, err := Libraries()
	if err != nil {
		return nil, nil, err
	}
	assets = map[string]asset{}
	for _, l := range known {
		for _, f := range l.Served() {
			packed, err := libraries.ReadFile(path.Join("vendor", l.Folder(), f.Path) + vendored.Packed)
			if err != nil {
				return nil, nil, err
			}
			if len(f.SHA256) < hashDigits {
				return nil, nil, fmt.Errorf("%s of %s has no hash", f.Path, l.From)
			}
			entry := loadable{
				Library: l.Name, Name: path.Base(f.Path), Kind: kindOf(&l, f.Path),
				Src: assetPath + f.SHA256[:hashDigits] + "/" + path.Base(f.Path), Integrity: "sha384-" + f.SHA384,
			}
			one := asset{packed, "text/javascript; charset=utf-8"}
			if entry.Kind == kindStyle {
				one.contentType = "text/css; charset=utf-8"
			}
			assets[entry.Src] = one
			list = append(list, entry)
		}
	}
	return assets, list, nil
}

// Kinds of vendored files.
const (
	kindScript = "script"
	kindModule = "module" // an ECMAScript module, to be imported
	kindStyle  = "style"
)

// kindOf returns how the page loads a file.
func kindOf(l *vendored.Library, file string) string {
	switch {
	case path.Ext(file) == ".css":
		return kindStyle
	case l.Name == "ansi_up" || strings.HasPrefix(file, "es/"):
		return kindModule
	}
	return kindScript
}

// vendoredFile sends a vendored file. Its address names its content, so it never changes.
func (s *Server) vendoredFile(w http.ResponseWriter, r *http.Request) (err error) {
	found, known := s.assets[r.URL.Path]
	if !known {
		return refuse(http.StatusNotFound, "Not found")
	}
	h := w.Header()
	body := found.packed
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else if body, err = vendored.Unpack(body); err != nil {
		return err
	}
	h.Add("Vary", "Accept-Encoding")
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", "public, immutable, max-age=31536000")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the client may have disconnected
	return nil
}
