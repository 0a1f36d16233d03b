// Package vendored describes the third-party libraries that the page of the control room loads:
// vendor.json, and the files next to it.
package vendored

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// Index is the name of the file that lists the libraries, in their folder.
const Index = "vendor.json"

// License is the name of the file with the license of a library. It is never served.
const License = "LICENSE"

// Packed is the suffix of the gzip file of a file, which is next to it.
const Packed = ".gz"

// Library is a package of the npm registry from which the page loads files.
type Library struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	License   string `json:"license"`   // SPDX identifier
	From      string `json:"from"`      // npm:<name>@<version>
	Integrity string `json:"integrity"` // hash of the archive, as in the registry
	Files     []File `json:"files"`
}

// File is a file of a library, byte for byte as in its archive.
type File struct {
	Path   string `json:"path"`   // in the archive
	SHA256 string `json:"sha256"` // in hexadecimal digits
	SHA384 string `json:"sha384"` // in base64, as browsers check it
}

// Folder returns the name of the folder with the files of a library, next to Index.
func (l *Library) Folder() string { return l.Name + "@" + l.Version }

// Served returns the files of a library that a page loads.
func (l *Library) Served() (files []File) {
	for _, f := range l.Files {
		if f.Path != License {
			files = append(files, f)
		}
	}
	return files
}

// NewFile returns the description of a file with this content.
func NewFile(name string, content []byte) File {
	short, long := sha256.Sum256(content), sha512.Sum384(content)
	return File{name, hex.EncodeToString(short[:]), base64.StdEncoding.EncodeToString(long[:])}
}

// Read reads the list of libraries.
func Read(files fs.FS) (list []Library, err error) {
	text, err := fs.ReadFile(files, Index)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", Index, err)
	}
	return list, nil
}

// Check compares every file with the list: its content, its gzip file, and that there are no
// other files. The error joins everything that is wrong.
func Check(files fs.FS) error {
	list, err := Read(files)
	if err != nil {
		return err
	}
	known := map[string]bool{Index: true}
	var wrong []error
	for _, l := range list {
		if l.From != "npm:"+l.Folder() || l.License == "" || l.Integrity == "" {
			wrong = append(wrong, fmt.Errorf("%s: its entry is incomplete", l.Folder()))
		}
		for _, f := range l.Files {
			at := path.Join(l.Folder(), f.Path)
			known[at] = true
			if f.Path != License {
				known[at+Packed] = true
			}
			wrong = append(wrong, checkFile(files, at, f))
		}
		if !known[path.Join(l.Folder(), License)] {
			wrong = append(wrong, fmt.Errorf("%s: its license is missing", l.Folder()))
		}
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[name] {
			wrong = append(wrong, fmt.Errorf("%s is not in %s", name, Index))
		}
		return err
	})
	return errors.Join(append(wrong, err)...)
}

func checkFile(files fs.FS, at string, f File) error {
	content, err := fs.ReadFile(files, at)
	if err != nil {
		return err
	}
	if NewFile(f.Path, content) != f {
		return fmt.Errorf("%s is not the file of %s", at, Index)
	}
	if f.Path == License {
		return nil
	}
	packed, err := fs.ReadFile(files, at+Packed)
	if err != nil {
		return err
	}
	if plain, err := Unpack(packed); err != nil || !bytes.Equal(plain, content) {
		return fmt.Errorf("%s is not what gzip makes of its file", at+Packed)
	}
	return nil
}

// Unpack decompresses gzip data.
func Unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
