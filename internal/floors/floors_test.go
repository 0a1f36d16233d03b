package floors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "ac"

// floors returns the floor of each package. A name that ends in "/..." covers all packages below
// it, unless a longer name matches.
func floors() map[string]int {
	return map[string]int{
		"internal/...":            0,
		"events":                  1,
		"workspace":               2,
		"workspace/doc":           2,
		"workspace/checkpoint":    2,
		"workspace/founding":      3,
		"workspace/migrate":       3,
		"workspace/transfer":      3,
		"workspace/validate":      3,
		"workspace/workspacetest": 3,
		"governance/policy":       3,
		"index":                   3,
		"index/worker":            3,
		"index/search":            3,
		"index/source":            3,
		"pm":                      4,
		"runs/...":                4,
		"terminal":                4,
		"audit":                   5,
		"governance/...":          5,
		"conversation":            5,
		"fleet":                   5,
		"fleet/lag":               5,
		"fleet/placement":         5,
		"fleet/fleettest":         5,
		"fleet/parcel":            6,
		"fleet/carrier":           6,
		"fleet/carrier/natstest":  6,
		"fleet/hub":               7,
		"fleet/worker":            7,
		"heartbeat":               6,
		"heartbeat/answer":        6,
		"heartbeat/job":           6,
		"heartbeat/workflow":      6,
		"enterprise":              7,
		"inbox":                   7,
		"snapshot":                7,
		"snapshot/room":           7,
		"feed":                    7,
		"doctor":                  7,
		"company/...":             8,
		"rpc":                     9,
		"web":                     9,
		"dialect":                 9,
		"dialect/ws":              9,
		"dialect/autonoma":        9,
		"dialect/comma":           9,
		"dialect/acecode":         9,
		"dialect/acecode/frames":  9,
		"dialect/daemon":          9,
		"dialect/dialecttest":     9,
		"web/page":                0,
		"cmd/ac/...":              10,
		"cmd/ac-hub":              10,
		"cmd/archive":             10,
		"cmd/vendored":            10,
		"bench":                   10,
		"internal/floors":         10,
	}
}

// neighbours returns the allowed imports within a floor. Packages of floor 0, and those of floor
// 10, may import each other freely.
func neighbours() map[string][]string {
	return map[string][]string{
		"workspace": {"workspace/doc", "workspace/checkpoint"},
		// A copy is validated at its destination.
		"workspace/transfer": {"workspace/validate"},
		// The index stores the rows that index/source reads.
		"index": {"index/source"},
		"runs":  {"runs/budget", "runs/interaction", "runs/policy", "runs/lane", "runs/modelprofile", "runs/provider", "runs/session", "runs/sharepack", "runs/transcript", "runs/usage", "runs/worktree"},
		// Shells of terminals have guards as providers do.
		"terminal":        {"runs/session"},
		"runs/transcript": {"runs/failure", "runs/interaction"},
		"runs/session":    {"runs/budget", "runs/grant", "runs/interaction", "runs/provider", "runs/usage"},
		// A provider's output is parsed while it is recorded.
		"runs/session/output": {"runs/failure", "runs/transcript", "runs/usage"},
		// Conversations with agents are recorded, and controlled by verbs.
		"runs/session/live": {"runs/agent", "runs/failure", "runs/interaction", "runs/policy", "runs/provider", "runs/session", "runs/session/output", "runs/transcript", "runs/usage"},
		// Supervisors execute orders. Code that only sends orders does not import them.
		"runs/session/supervisor": {"runs/agent", "runs/budget", "runs/failure", "runs/grant", "runs/interaction", "runs/mcpserver", "runs/modelprofile", "runs/provider", "runs/session", "runs/session/live", "runs/session/output", "runs/transcript", "runs/usage", "runs/worktree"},
		// The same rules apply to the headers and addresses of both.
		"runs/modelprofile": {"runs/mcpserver"},
		// Drivers pass the MCP servers to their agents.
		"runs/mcpserver":       {"runs/agent"},
		"runs/agent":           {"runs/usage"},
		"runs/provider":        {"runs/agent"},
		"runs/grant":           {"runs/interaction"},
		"runs/grant/granttest": {"runs/grant", "runs/interaction"},
		// The changes of a run are in its worktree.
		"runs/changes": {"runs/worktree"},
		// Filling and planning use artifacts and tasks.
		"governance/pipeline": {"governance"},
		// Rules are proposed as changes to memory.
		"governance/learning": {"governance"},
		// The policy decides which files may be applied.
		"governance/files": {"governance"},
		// Planning a context reads artifacts and memory.
		"governance/contextplan": {"governance"},
		// Placement uses the reports of hub and workers, without the wire format.
		"fleet/placement": {"fleet"},
		"fleet/fleettest": {"fleet"},
		"heartbeat":       {"heartbeat/job"},
		// A worker's output is checked against the job.
		"heartbeat/job": {"heartbeat/answer"},
		// The tables of the room are parts of snapshots.
		"snapshot": {"snapshot/room"},
		// The tasks of a workflow are jobs.
		"heartbeat/workflow": {"heartbeat/job"},
		// The operations of a part work on an opened workspace.
		"company/companytest":   {"company"},
		"company/orchestration": {"company"},
		"company/decisions":     {"company"},
		"company/equipment":     {"company"},
		"company/maintenance":   {"company"},
		"company/provisioning":  {"company"},
		"company/workforce":     {"company"},
		// The control room calls methods through the server's table and serves dialects in its
		// process.
		"web": {"rpc", "dialect"},
		// Dialects share their environment and their listeners.
		"dialect":             {"dialect/ws"},
		"dialect/autonoma":    {"dialect", "dialect/ws"},
		"dialect/comma":       {"dialect", "dialect/ws"},
		"dialect/dialecttest": {"dialect"},
		"dialect/acecode":     {"dialect", "dialect/acecode/frames", "dialect/ws"},
	}
}

// goPackage holds the fields that the tests read from `go list -json`.
type goPackage struct {
	ImportPath                          string
	Dir                                 string
	Imports, TestImports, XTestImports  []string
	GoFiles, TestGoFiles, XTestGoFiles  []string
	IgnoredGoFiles                      []string
	CgoFiles, SFiles, CFiles, SysoFiles []string
}

// name returns the path within the module.
func (p goPackage) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// sources returns the files of production code for every operating system.
func (p goPackage) sources() (files []string) {
	for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(file, "_test.go") {
			files = append(files, filepath.Join(p.Dir, file))
		}
	}
	return files
}

// modules returns the folders of this repository's modules: the program and its benchmarks.
func modules() []string { return []string{root, filepath.Join(root, "bench")} }

// packages returns the packages of all modules.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("go list names %d packages: the test looks at the wrong place", len(list))
	}
	return list
}

// listed runs go list once for all tests.
var listed = sync.OnceValues(func() (list []goPackage, err error) {
	for _, dir := range modules() {
		packages, err := packagesOf(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, packages...)
	}
	return list, nil
})

func packagesOf(dir string) (list []goPackage, err error) {
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	for values := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := values.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
}

// TestBenchmarksBuild vets the bench module. go vet ./... does not reach it, so changes of ac could
// break it unnoticed.
func TestBenchmarksBuild(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = filepath.Join(root, "bench")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet in bench: %v (where its modules differ from those of ac: go -C bench mod tidy)\n%s", err, said)
	}
}

// floorOf returns the floor of the longest matching name in floors().
func floorOf(name string) (floor int, ok bool) {
	best := ""
	for pattern, at := range floors() {
		prefix, below := strings.CutSuffix(pattern, "/...")
		fits := name == prefix || (below && strings.HasPrefix(name, prefix+"/"))
		if fits && (!ok || len(prefix) > len(best)) {
			best, floor, ok = prefix, at, true
		}
	}
	return floor, ok
}

// mayImport reports whether a package may import another one of this module.
func mayImport(from, to string) bool {
	a, okA := floorOf(from)
	b, okB := floorOf(to)
	switch {
	case !okA || !okB:
		return false
	case b < a:
		return true
	case b > a:
		return false
	}
	return a == 0 || a == 10 || slices.Contains(neighbours()[from], to)
}

// TestPackagesImportLowerFloorsOnly checks the imports of production code against the table. Tests
// may import higher floors because they drive the tested code from outside.
func TestPackagesImportLowerFloorsOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		floor, ok := floorOf(p.name())
		if !ok {
			t.Errorf("package %s stands on no floor: give it its place in floors()", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || mayImport(p.name(), to) {
				continue
			}
			other, _ := floorOf(to)
			t.Errorf("%s (floor %d) imports %s (floor %d): a package imports lower floors, or its own parts as neighbours() lists them",
				p.ImportPath, floor, path, other)
		}
	}
}

// TestACLinksNoMessageBroker checks that ac does not link the message broker. Each session has
// processes of ac, and only hubs and workers need the broker.
func TestACLinksNoMessageBroker(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/ac")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "ac/fleet\n") {
		t.Error("the test looks at the wrong program")
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "nats-io") || strings.HasPrefix(line, "ac/fleet/carrier") || strings.HasPrefix(line, "ac/fleet/hub") || strings.HasPrefix(line, "ac/fleet/worker") {
			t.Errorf("ac links %s", strings.TrimSpace(line))
		}
	}
}

// commandLayers returns the packages of the program ac by layer, from the shared ones to the root
// command.
func commandLayers() [][]string {
	return [][]string{
		{"cmd/ac/cli", "cmd/ac/cli/clitest", "cmd/ac/dashboard", "cmd/ac/demo", "cmd/ac/mcp", "cmd/ac/top"},
		{"cmd/ac/plumbing/execution", "cmd/ac/plumbing/records", "cmd/ac/plumbing/workspaces", "cmd/ac/servers"},
		{"cmd/ac/porcelain/oversight", "cmd/ac/porcelain/work"},
		{"cmd/ac/fullscreen"},
		{"cmd/ac"},
	}
}

// TestCommandsAreInLayers checks that the packages of the program ac import only lower layers.
func TestCommandsAreInLayers(t *testing.T) {
	t.Parallel()
	layerOf := func(name string) int {
		return slices.IndexFunc(commandLayers(), func(layer []string) bool { return slices.Contains(layer, name) })
	}
	for _, p := range packages(t) {
		if p.name() != "cmd/ac" && !strings.HasPrefix(p.name(), "cmd/ac/") {
			continue
		}
		layer := layerOf(p.name())
		if layer < 0 {
			t.Errorf("package %s is in no layer: give it its place in commandLayers()", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			to, _ := strings.CutPrefix(path, module+"/")
			if other := layerOf(to); other >= layer {
				t.Errorf("%s imports %s, which is not in a lower layer", p.ImportPath, path)
			}
		}
	}
}

// TestOneOwnerOfAnEngine checks that only the owning package imports an engine. Others use the
// engine through its owner.
func TestOneOwnerOfAnEngine(t *testing.T) {
	t.Parallel()
	owners := map[string]string{
		"github.com/fsnotify/fsnotify": "internal/watch",
		"modernc.org/sqlite":           "index",
		"go.yaml.in/yaml/v3":           "internal/yamldoc",

		"github.com/nats-io/nats-server/v2/server": "fleet/carrier",
		"github.com/nats-io/nats.go":               "fleet/carrier",
		"github.com/nats-io/nats.go/jetstream":     "fleet/carrier",
		"github.com/nats-io/nkeys":                 "fleet/carrier",
	}
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			if owner := owners[path]; owner != "" && p.name() != owner && !strings.HasPrefix(p.name(), owner+"/") && p.name() != "bench" { // bench measures it
				t.Errorf("%s imports %s, which is for %s alone", p.ImportPath, path, owner)
			}
		}
	}
}

// TestTheTableTellsRightFromWrong checks the rules of mayImport with examples.
func TestTheTableTellsRightFromWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"events", "internal/lock", true},
		{"internal/lock", "internal/durable", true},
		{"internal/lock", "events", false},
		{"workspace", "workspace/doc", true},
		{"workspace/doc", "workspace", false},
		{"runs", "runs/session", true},
		{"runs/session", "runs", false},
		{"feed", "snapshot", false},
		{"company", "rpc", false},
		{"bench", "rpc", true},
		{"rpc", "bench", false},
		{"cmd/ac", "company", true},
		{"nowhere", "events", false},
	} {
		if got := mayImport(c.from, c.to); got != c.want {
			t.Errorf("mayImport(%s, %s) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestNoRoomForOddments refuses packages with meaningless names.
func TestNoRoomForOddments(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(p.name(), "/") {
			switch strings.TrimSuffix(part, "s") {
			case "util", "common", "helper", "manager", "misc", "shared", "base":
				t.Errorf("package %s: name it after what it holds", p.ImportPath)
			}
		}
	}
}
