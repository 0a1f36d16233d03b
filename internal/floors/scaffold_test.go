package floors

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// These tests report what is missing after an addition, such as a page or a test. CONTRIBUTING.md
// has the recipes.

// root is the module's folder.
const root = "../.."

// texts joins the content of the files with matching names below some folders.
func texts(t *testing.T, fits func(name string) bool, below ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range below {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !fits(filepath.Base(name)) {
				return err
			}
			text, err := os.ReadFile(name)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func ending(suffixes ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
	}
}

// literals returns string literals in production code: first arguments of matching functions,
// values of the named field, and values of variables and constants named id. It reads the package,
// and with a "/..." suffix also the packages below it.
func literals(t *testing.T, pkg string, function func(name string) bool, field string) (found []string) {
	t.Helper()
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	for _, s := range sources(t) {
		if top, below := strings.CutSuffix(pkg, "/..."); s.pkg != top && (!below || !strings.HasPrefix(s.pkg, top+"/")) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && function(name.Name) && len(n.Args) > 0 {
					add(n.Args[0])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == field {
					add(n.Value)
				}
			case *ast.ValueSpec:
				if len(n.Names) > 0 && n.Names[0].Name == "id" && len(n.Values) > 0 {
					add(n.Values[0])
				}
			}
			return true
		})
	}
	return found
}

func TestEveryMethodIsWhole(t *testing.T) {
	t.Parallel()
	methods := literals(t, "rpc", func(name string) bool { return name == "on" }, "")
	if len(methods) < 80 {
		t.Fatalf("only %d methods were found in rpc/table.go", len(methods))
	}
	conversations := texts(t, ending(".txtar"), "rpc/testdata/conversations")
	page := texts(t, ending("protocol.md"), "docs")
	for _, m := range methods {
		if !strings.Contains(conversations, `"method":"`+m+`"`) {
			t.Errorf("%s has no conversation: rpc/testdata/conversations", m)
		}
		if !strings.Contains(page, "\n## "+m+"\n") {
			t.Errorf("%s does not stand in docs/protocol.md: go test ./cmd/ac -run TestReference -update", m)
		}
	}
}

func TestEveryCommandIsWhole(t *testing.T) {
	t.Parallel()
	scripts := texts(t, ending(".txtar", "_test.go"), "cmd/ac")
	page := texts(t, func(name string) bool { return name == "commands.md" }, "docs")
	named := regexp.MustCompile(`^[a-z-]+:[a-z:-]+`)
	seen := 0
	for _, use := range literals(t, "cmd/ac/...", func(string) bool { return false }, "Use") {
		name := named.FindString(use)
		if name == "" {
			continue
		}
		seen++
		if !strings.Contains(scripts, name) {
			t.Errorf("%s has no script: cmd/ac/testdata/script", name)
		}
		if !strings.Contains(page, "`"+name) {
			t.Errorf("%s does not stand in docs/commands.md: go test ./cmd/ac -run TestCommandsPage -update", name)
		}
	}
	if seen < 60 {
		t.Fatalf("only %d commands were found in cmd/ac", seen)
	}
}

func TestEveryDoctorCheckIsWhole(t *testing.T) {
	t.Parallel()
	tests := texts(t, ending("_test.go", ".txtar"), "doctor", "cmd/ac", "rpc")
	page := texts(t, ending(".md"), "docs")
	checks := literals(t, "doctor", func(name string) bool { return name == "pass" || name == "passed" }, "ID")
	if len(checks) < 12 {
		t.Fatalf("only %d checks were found in doctor: %q", len(checks), checks)
	}
	for _, id := range checks {
		if !strings.Contains(tests, id) {
			t.Errorf("the check %s has no test: doctor/*_test.go", id)
		}
		if !strings.Contains(page, "`"+id+"`") {
			t.Errorf("the check %s does not stand in docs/operations.md", id)
		}
	}
}

func TestEveryEventTypeIsWhole(t *testing.T) {
	t.Parallel()
	tests := texts(t, ending("_test.go", ".txtar", ".jsonl"), ".")
	page := texts(t, ending("formats.md"), "docs")
	for _, s := range sources(t) {
		if s.pkg != "events" || s.name != "types.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`) //nolint:forcetypeassert // the constants of this file
			if !strings.Contains(tests, kind) && !strings.Contains(tests, spec.Names[0].Name) {
				t.Errorf("no test knows an event of the type %s", kind)
			}
			if !strings.Contains(page, "`"+kind+"`") {
				t.Errorf("the event type %s does not stand in docs/formats.md", kind)
			}
			return true
		})
	}
}

func TestEveryDocumentIsWhole(t *testing.T) {
	t.Parallel()
	codecs := regexp.MustCompile(`(?m)^\s*(?:var )?([A-Z]\w*)Codec\s*= yamldoc\.For`)
	used := texts(t, func(name string) bool { return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") }, ".")
	for _, m := range codecs.FindAllStringSubmatch(texts(t, ending(".go"), "workspace/doc"), -1) {
		name := "doc." + m[1] + "Codec"
		if !strings.Contains(used, name) && strings.Count(texts(t, ending(".go"), "workspace/doc"), m[1]+"Codec") < 2 {
			t.Errorf("nothing reads documents with %s", name)
		}
	}
}

// TestFormatsHaveTheLayout checks that docs/formats.md has the names of workspace/layout.go.
func TestFormatsHaveTheLayout(t *testing.T) {
	t.Parallel()
	code := texts(t, func(name string) bool { return name == "layout.go" }, "workspace")
	_, code, _ = strings.Cut(code, "// Fixed names.")
	page := texts(t, ending("formats.md"), "docs")
	names := regexp.MustCompile(`"/?((?:[\w.-]+/)*[\w.-]+)"`).FindAllStringSubmatch(code, -1)
	seen := 0
	for _, m := range names {
		last := m[1][strings.LastIndex(m[1], "/")+1:]
		if len(last) < 3 || strings.HasPrefix(last, ".own") || strings.HasSuffix(last, ".kernel") || strings.HasSuffix(last, ".write.lock") {
			continue // parts of names, and locks
		}
		seen++
		if !strings.Contains(page, last) {
			t.Errorf("docs/formats.md does not have %s of workspace/layout.go", m[1])
		}
	}
	if seen < 40 {
		t.Errorf("only %d names were found in workspace/layout.go", seen)
	}
}

// TestFuzzInputsHaveTheirTarget finds fuzz inputs that nothing runs because their target was
// renamed or moved.
func TestFuzzInputsHaveTheirTarget(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || filepath.Base(filepath.Dir(name)) != "fuzz" {
			return err
		}
		pkg := filepath.Dir(filepath.Dir(filepath.Dir(name)))
		files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
		for _, file := range files {
			text, readErr := os.ReadFile(file)
			if readErr != nil {
				return readErr
			}
			if strings.Contains(string(text), "func "+entry.Name()+"(") {
				found++
				return filepath.SkipDir
			}
		}
		t.Errorf("%s has no target in its package", name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 15 {
		t.Errorf("only %d targets were found", found)
	}
}
