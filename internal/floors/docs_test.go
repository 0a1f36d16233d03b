package floors

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pages returns the Markdown files of the repository by their paths from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" || strings.Contains(name, "testdata") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("%d pages were found: the test looks at the wrong place", len(found))
	}
	return found
}

// TestDocumentsLinkToWhatIsThere checks the relative links of every page, including their headings.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	all := pages(t)
	for page, text := range all {
		for _, found := range link.FindAllStringSubmatch(prose(text), -1) {
			to := page
			if found[1] != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), found[1]))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, to)
			} else if found[2] != "" && !anchors(all[to])[found[2]] {
				t.Errorf("%s links to %s#%s: there is no such heading", page, to, found[2])
			}
		}
	}
}

// prose returns a page without its code blocks.
func prose(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
}

// anchors returns the link anchors of a page's headings, formed as GitHub forms them.
func anchors(text string) map[string]bool {
	heading := regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(prose(text), -1) {
		base := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")
		name := base
		for n := 1; names[name]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		names[name] = true
	}
	return names
}

// TestDocumentsNameTestsThatAreThere checks that every test that a page names exists. A test named
// after a package must be in that package, others may be anywhere.
func TestDocumentsNameTestsThatAreThere(t *testing.T) {
	t.Parallel()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	in := map[string]map[string]bool{"": {}}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(name))
		pkg = filepath.ToSlash(pkg)
		if in[pkg] == nil {
			in[pkg] = map[string]bool{}
		}
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			in[pkg][m[1]], in[""][m[1]] = true, true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([^`\n]+)`|\\b((?:Test|Fuzz|Benchmark)[A-Z]\\w+)")
	named := 0
	for page, text := range pages(t) {
		for line := range strings.Lines(prose(text)) {
			pkg := ""
			for _, m := range word.FindAllStringSubmatch(line, -1) {
				code, test := m[1], m[2]
				if first, rest, _ := strings.Cut(code, " "); in[first] != nil && first != "" {
					pkg, test = first, strings.SplitN(rest, "/", 2)[0]
				} else if strings.Contains(code, "/") {
					pkg = ""
				}
				if test == "" && word.FindString(code) == code {
					test = code
				}
				if test == "" || !word.MatchString(test) {
					continue
				}
				named++
				if !in[pkg][test] {
					t.Errorf("%s names %s %s, which is not there", page, pkg, test)
				}
			}
		}
	}
	if named < 400 {
		t.Errorf("only %d tests were found in the pages", named)
	}
}

// TestDocumentsNameFilesThatAreThere checks that the paths of this repository in the pages exist.
func TestDocumentsNameFilesThatAreThere(t *testing.T) {
	t.Parallel()
	// company and inbox are left out: they are also folders of workspaces.
	path := regexp.MustCompile("`((?:bench|cmd|conversation|dialect|docs|doctor|enterprise|events|feed|fleet|governance|heartbeat|index|internal|pm|rpc|runs|scripts|snapshot|terminal|web|workspace)/[\\w./-]*\\w)`")
	script := regexp.MustCompile("`([a-z][\\w.-]*\\.txtar)`")
	named := 0
	for page, text := range pages(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			named++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
		for _, m := range script.FindAllStringSubmatch(text, -1) {
			named++
			found, err := filepath.Glob(filepath.Join(root, "*", "testdata", "*", m[1]))
			below, err2 := filepath.Glob(filepath.Join(root, "*", "*", "testdata", "*", m[1]))
			if err != nil || err2 != nil || len(found)+len(below) == 0 {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d files were found in the pages", named)
	}
}
