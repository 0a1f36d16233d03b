package provider

// Versions of programs installed as npm packages, read without starting the program.

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"ac/internal/lazyregexp"
	"ac/workspace"
)

// Bounds of the search for a program's package.
const (
	packageLevels  = 6       // directories above the program
	maxPackageFile = 1 << 20 // bytes of a package.json
)

// packagedVersion returns the version of the npm package that installed a program. It uses the
// nearest package.json above the program's resolved file, if that lists the file in "bin".
// Otherwise it returns "".
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

// KnownVersion returns the version of a program without starting it: from its npm package, else
// from an answer that this workspace cached for the same file. It returns "" if the version is
// unknown.
func KnownVersion(w *workspace.Workspace, program string) string {
	said := packagedVersion(program)
	c := Cache{Workspace: w}
	if known, ok := c.load(program, "about"); said == "" && ok && known.About != nil && known.About.Version != nil {
		said = *known.About.Version
	}
	for _, a := range adapters() {
		if known, ok := c.load(program, "probe "+a.Name); said == "" && ok && known.Probe != nil {
			said = known.Probe.Version
		}
	}
	return versionNumber().FindString(said)
}

// versionNumber matches the number in a program's version output.
var versionNumber = lazyregexp.New(`[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`)

// npmPackage holds the fields of a package.json that describe its programs.
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

// programs returns the package's program files, relative to the package. "bin" is either one
// path or a map of names to paths.
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
