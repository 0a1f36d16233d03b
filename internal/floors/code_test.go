package floors

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// source is a parsed file of production code.
type source struct {
	pkg  string
	name string
	fset *token.FileSet
	file *ast.File
}

func (s source) at(p token.Pos) token.Position {
	at := s.fset.Position(p)
	at.Filename = filepath.Join(s.pkg, filepath.Base(at.Filename))
	return at
}

// parsed parses all files once for all tests. Tests must not modify them.
var parsed = sync.OnceValues(func() (files []source, err error) {
	list, err := listed()
	for _, p := range list {
		for _, name := range p.sources() {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, source{pkg: p.name(), name: filepath.Base(name), fset: fset, file: file})
		}
	}
	return files, err
})

func sources(t *testing.T) []source {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// selectors calls visit for every use of a name from the imported package.
func (s source) selectors(path string, visit func(name string, at token.Pos)) {
	local := ""
	for _, spec := range s.file.Imports {
		if strings.Trim(spec.Path.Value, `"`) != path {
			continue
		}
		local = path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local {
			visit(sel.Sel.Name, sel.Pos())
		}
		return true
	})
}

// TestOperatingSystemsAreKnownOnFloorZeroOnly checks that only floor 0 has build tags and files
// for one operating system. The tag of release builds is exempt because it names no system.
func TestOperatingSystemsAreKnownOnFloorZeroOnly(t *testing.T) {
	t.Parallel()
	systems := []string{"linux", "darwin", "windows", "unix", "freebsd", "openbsd", "netbsd", "js", "wasip1", "plan9", "android", "ios", "solaris", "aix"}
	for _, s := range sources(t) {
		if floor, _ := floorOf(s.pkg); floor == 0 {
			continue
		}
		words := strings.Split(strings.TrimSuffix(s.name, ".go"), "_")
		if last := words[len(words)-1]; len(words) > 1 && slices.Contains(systems, last) {
			t.Errorf("%s/%s is for %s: what depends on the operating system lives on floor 0", s.pkg, s.name, last)
		}
		for _, group := range s.file.Comments {
			for _, line := range group.List {
				if line.Pos() < s.file.Package && constraint.IsGoBuild(line.Text) && !ofReleases(s.pkg, line.Text) {
					t.Errorf("%s: build tags live on floor 0", s.at(line.Pos()))
				}
			}
		}
	}
}

// ofReleases reports whether a build tag selects or excludes help:man, which release builds use.
func ofReleases(pkg, line string) bool {
	return pkg == "cmd/ac" && (line == "//go:build man" || line == "//go:build !man")
}

// TestNothingRunsByItself refuses init functions. The exception is the one that turns a process
// into a guard (docs/adr/0023).
func TestNothingRunsByItself(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "internal/guard/takeover" {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: no init functions: the caller that needs it calls it", s.at(f.Pos()))
			}
		}
	}
}

// TestPackagesHoldNoState refuses package-level variables that are assigned to,
// or whose address is taken, outside their declaration.
func TestPackagesHoldNoState(t *testing.T) {
	t.Parallel()
	byPackage := map[string][]source{}
	for _, s := range sources(t) {
		byPackage[s.pkg] = append(byPackage[s.pkg], s)
	}
	for _, files := range byPackage {
		vars := packageVars(files)
		for _, s := range files {
			for _, d := range s.file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					refuseWrites(t, s, f, vars)
				}
			}
		}
	}
}

func packageVars(files []source) map[string]bool {
	vars := map[string]bool{}
	for _, s := range files {
		for _, d := range s.file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					vars[name.Name] = name.Name != "_"
				}
			}
		}
	}
	return vars
}

// refuseWrites reports writes of a function to package variables. The check is cheap and
// incomplete: a name that the function declares anywhere counts as local everywhere in it.
func refuseWrites(t *testing.T, s source, f *ast.FuncDecl, vars map[string]bool) {
	t.Helper()
	own := declared(f)
	refuse := func(e ast.Expr, what string) {
		if name := rootName(e); vars[name] && !own[name] {
			t.Errorf("%s: the package variable %s is %s: pass state in instead", s.at(e.Pos()), name, what)
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					refuse(e, "assigned to")
				}
			}
		case *ast.IncDecStmt:
			refuse(n.X, "changed")
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				refuse(n.X, "handed out by address")
			}
		}
		return true
	})
}

// rootName returns the variable at the root of an expression, or "".
func rootName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return ""
		}
	}
}

func declared(f *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		}
		return true
	})
	return own
}

// TestOutputBelongsToCommands checks that only commands and benchmarks use the process's standard
// streams. In a server, these carry the protocol.
func TestOutputBelongsToCommands(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if strings.HasPrefix(s.pkg, "cmd/") || s.pkg == "bench" {
			continue
		}
		s.selectors("fmt", func(name string, at token.Pos) {
			if strings.HasPrefix(name, "Print") {
				t.Errorf("%s: fmt.%s writes into the protocol: take a writer", s.at(at), name)
			}
		})
		s.selectors("os", func(name string, at token.Pos) {
			if name == "Stdout" || name == "Stderr" || name == "Stdin" {
				t.Errorf("%s: os.%s belongs to the commands: take a stream", s.at(at), name)
			}
		})
		s.selectors("log", func(name string, at token.Pos) {
			t.Errorf("%s: log.%s is a global: take a *slog.Logger", s.at(at), name)
		})
	}
}

// wallClocks returns the packages that may read the system's time, with the reasons. None of them
// writes this time to a file.
func wallClocks() map[string]string {
	return map[string]string{
		"internal/clock":          "is the clock",
		"internal/lateness":       "measures the machine for tests",
		"fleet/carrier":           "compares the age of objects with how long their store keeps them",
		"heartbeat/job":           "makes the clock of a runner process",
		"internal/proc":           "bounds waits for dying processes",
		"terminal":                "paces output and viewers, and sets deadlines of terminals, which the kernel keeps",
		"rpc":                     "measures how long a client has not moved",
		"runs/session/live":       "sets deadlines of an agent's input, which the kernel keeps",
		"runs/session/supervisor": "waits for the locks of sessions that end, and sets deadlines of connections, which the kernel keeps",
	}
}

// TestTimeComesFromTheClock refuses time.Now outside the clock, and exceptions
// that are no longer needed.
func TestTimeComesFromTheClock(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasPrefix(s.pkg, "cmd/") || s.pkg == "bench" {
			continue // programs that measure or display time
		}
		s.selectors("time", func(selected string, at token.Pos) {
			if selected != "Now" && selected != "Since" && selected != "Until" {
				return
			}
			used[s.pkg] = true
			if wallClocks()[s.pkg] == "" {
				t.Errorf("%s: time.%s outside the clock: take a *clock.Clock, or give the reason in wallClocks()", s.at(at), selected)
			}
		})
	}
	for pkg := range wallClocks() {
		if !used[pkg] {
			t.Errorf("%s asks for no time any more: take it from wallClocks()", pkg)
		}
	}
}

// TestLocalNamesAreSpelledOnce checks that only workspace/layout.go spells names below .local. Code
// with its own spelling breaks when a file moves. The bench and the commands are exempt because
// they create files as other programs do.
func TestLocalNamesAreSpelledOnce(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if (s.pkg == "workspace" && s.name == "layout.go") || s.pkg == "bench" || strings.HasPrefix(s.pkg, "cmd/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.HasPrefix(strings.Trim(text.Value, "`\""), ".local") {
				t.Errorf("%s: %s stands in workspace/layout.go", s.at(text.Pos()), text.Value)
			}
			return true
		})
	}
}
