package provider

// Versions that need no start of the program: of those that came as packages of npm.

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"ac/internal/lazyregexp"
	"ac/workspace"
)

// Bounds of the search for the package of a program.
const (
	packageLevels  = 6       // folders above the program
	maxPackageFile = 1 << 20 // bytes of a package.json
)

// packagedVersion is the version of the package that a program came with: what the nearest
// package.json above its file says, if that names the program as its own. "" for any other.
func packagedVersion(program string) string {
	file, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(file)
	for range packageLevels {
		if found, err := readPackage(filepath.Join(dir, "package.json")); err == nil && found.Version != "" {
			for _, own := range found.programs() {
				if filepath.Join(dir, filepath.FromSlash(own)) == file {
					return found.Version
				}
			}
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// KnownVersion is the version of a program as far as it is known without a start of it: by its
// package, or by what it said before in this workspace, with the same file. "" where it is not.
func KnownVersion(w *workspace.Workspace, program string) string {
	said := packagedVersion(program)
	c := Cache{Workspace: w}
	if known, ok := c.recall(program, "about"); said == "" && ok && known.About != nil && known.About.Version != nil {
		said = *known.About.Version
	}
	for _, a := range adapters() {
		if known, ok := c.recall(program, "probe "+a.Name); said == "" && ok && known.Probe != nil {
			said = known.Probe.Version
		}
	}
	return versionNumber().FindString(said)
}

// versionNumber matches the number in what programs say of their versions.
var versionNumber = lazyregexp.New(`[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`)

// npmPackage is what a package.json says of its programs.
type npmPackage struct {
	Version string          `json:"version"`
	Bin     json.RawMessage `json:"bin"`
}

func readPackage(name string) (p npmPackage, err error) {
	f, err := os.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPackageFile))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}

// programs are the files of the programs, relative to the package: of one, or of several by name.
func (p npmPackage) programs() (files []string) {
	one, several := "", map[string]string{}
	if json.Unmarshal(p.Bin, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(p.Bin, &several) == nil {
		for _, file := range several {
			files = append(files, file)
		}
	}
	return files
}
