package policy

import (
	"strings"
	"testing"

	"ac/workspace/doc"
)

// columns are the tables' columns, each with a sample access.
var columns = []struct {
	name   string
	access Access
}{
	{"fs_read", Access{doc.OpRead, "a.txt"}},
	{"fs_write in root", Access{doc.OpWrite, "dir/a.txt"}},
	{"fs_write elsewhere", Access{doc.OpWrite, "/etc/a.txt"}},
	{"fs_exec", Access{doc.OpExec, "make"}},
	{"network", Access{doc.OpNetwork, "example.org"}},
	{"mcp_tool", Access{doc.OpMCPTool, "files/read"}},
}

// cells runs a subtest for each cell of a table. A row starts with its name, and bars separate
// its cells.
func cells(t *testing.T, table string, check func(t *testing.T, row string, column int, want string)) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if len(fields) < len(columns)+1 {
			t.Fatalf("row %q has too few cells", line)
		}
		for column, want := range fields[1:] {
			name := "plan prompt"
			if column < len(columns) {
				name = columns[column].name
			}
			t.Run(fields[0]+"/"+name, func(t *testing.T) { check(t, fields[0], column, want) })
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	cells(t, `
		read-only    | free | denied | denied | free | denied | free
		patch        | free | free   | denied | free | free   | free
		run-commands | free | free   | free   | free | free   | free
		full         | free | free   | free   | free | free   | free
	`, func(t *testing.T, row string, column int, want string) {
		a := columns[column].access
		for _, mode := range []doc.Mode{doc.ModeDefault, doc.ModeAcceptEdits, doc.ModePlan, doc.ModeFullAuto} {
			p := doc.RunPolicy{Mode: mode, PermissionLevel: doc.Level(row), Rules: []doc.PolicyRule{{Operation: a.Operation, Effect: doc.Allow, Glob: "**"}}}
			v := Judge(p, Situation{Interactive: true}, a)
			if denied := v.Effect == doc.Deny && v.By == ByLevel; denied != (want == "denied") {
				t.Errorf("in mode %s: %+v, want %s", mode, v, want)
			}
		}
	})
}

func TestModesOfLevels(t *testing.T) {
	t.Parallel()
	bears := map[doc.Level]string{
		doc.LevelReadOnly: "default plan", doc.LevelPatch: "default plan accept_edits",
		doc.LevelRunCommands: "default plan accept_edits full_auto", doc.LevelFull: "default plan accept_edits full_auto",
	}
	most := map[doc.Level]doc.Mode{
		doc.LevelReadOnly: doc.ModeDefault, doc.LevelPatch: doc.ModeAcceptEdits, doc.LevelRunCommands: doc.ModeFullAuto, doc.LevelFull: doc.ModeFullAuto,
	}
	for level, modes := range bears {
		for _, mode := range []doc.Mode{doc.ModeDefault, doc.ModePlan, doc.ModeAcceptEdits, doc.ModeFullAuto, "other"} {
			t.Run(string(level)+"/"+string(mode), func(t *testing.T) {
				want := strings.Contains(" "+modes+" ", " "+string(mode)+" ")
				if got := Permits(level, mode); got != want {
					t.Errorf("bears it: %v, want %v", got, want)
				}
			})
		}
		t.Run(string(level)+"/most", func(t *testing.T) {
			if got := MostMode(level, false); got != most[level] {
				t.Errorf("most is %s, want %s", got, most[level])
			}
			if got := MostMode(level, true); got != doc.ModeDefault {
				t.Errorf("interactive, it is %s", got)
			}
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	cells(t, `
		default      | allow | ask   | ask   | ask   | ask   | ask   | ask
		accept_edits | allow | allow | ask   | ask   | ask   | ask   | ask
		plan         | allow | deny  | deny  | deny  | deny  | ask   | ask
		full_auto    | allow | allow | allow | allow | allow | allow | allow
	`, func(t *testing.T, row string, column int, want string) {
		p := doc.RunPolicy{Mode: doc.Mode(row), PermissionLevel: doc.LevelRunCommands}
		judge := func(interactive bool) Verdict {
			if column == len(columns) {
				return JudgePlan(p, Situation{Interactive: interactive})
			}
			return Judge(p, Situation{Interactive: interactive}, columns[column].access)
		}
		if v := judge(true); string(v.Effect) != want || v.By != ByMode {
			t.Errorf("got %+v, want %s by mode", v, want)
		}
		v := judge(false)
		if want == "ask" {
			if v.Effect != doc.Deny || v.By != ByNotInteractive {
				t.Errorf("not interactive: %+v, want a denial for that", v)
			}
		} else if string(v.Effect) != want || v.By != ByMode {
			t.Errorf("not interactive: %+v, want %s by mode", v, want)
		}
	})
}

func TestAModeAboveItsLevelCountsAsDefault(t *testing.T) {
	t.Parallel()
	s := Situation{Interactive: true}
	p := doc.RunPolicy{Mode: doc.ModeFullAuto, PermissionLevel: doc.LevelReadOnly}
	if v := Judge(p, s, Access{doc.OpExec, "make"}); v.Effect != doc.Ask {
		t.Errorf("a command is %+v", v)
	}
	if v := JudgePlan(p, s); v.Effect != doc.Ask {
		t.Errorf("a plan is %+v", v)
	}
}
