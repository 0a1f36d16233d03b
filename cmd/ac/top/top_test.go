package top

// Tests of the screen without a terminal: golden files, keys, and properties at any size.

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

var update = flag.Bool("update", false, "write the golden screens anew")

var noon = time.Date(2026, 11, 22, 14, 3, 22, 0, time.UTC)

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {80, 24}, {50, 15}} {
		for name, keys := range map[string][]string{
			"now": nil, "needs": {"2"}, "plan": {"3"}, "talk": {"4"}, "cost": {"5"}, "help": {"?"}, "note": {"2", "d"}, "whole": {"enter"},
		} {
			name := fmt.Sprintf("%s_%dx%d", name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := show(t, acme(0), size[0], size[1], Options{Unicode: true})
				s.typeKeys(keys...)
				golden(t, name, strings.Join(trimmed(s.screen()), "\n")+"\n")
			})
		}
	}
	for rows, name := range map[int]string{0: "empty_80x24", 3000: "many_80x24"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			room := acme(rows)
			if rows == 0 {
				room = Room{Company: "Acme"}
			}
			s := show(t, room, 80, 24, Options{Unicode: true})
			golden(t, name, strings.Join(trimmed(s.screen()), "\n")+"\n")
		})
	}
}

func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s (%v):\n%s", path, err, got)
	}
}

// TestScreenFits checks that the screen never has a line too wide or a line too many.
func TestScreenFits(t *testing.T) {
	t.Parallel()
	s := show(t, acme(30), 80, 24, Options{Unicode: true, Colour: true})
	for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"1", "tab"}, {"1", "enter"}, {"esc", "/"}, {"x"}, {"esc", "2", "a"}} {
		s.typeKeys(keys...)
		for width := 1; width <= 200; width += 3 {
			for _, height := range []int{1, 2, 7, 8, 15, 23, 24, 60} {
				s.take(tea.WindowSizeMsg{Width: width, Height: height})
				lines := s.screen()
				if len(lines) > height {
					t.Fatalf("%v at %dx%d: %d lines", keys, width, height, len(lines))
				}
				for _, l := range lines {
					if bare := uncoloured(l); terminal.Columns(bare) > width {
						t.Fatalf("%v at %dx%d: %d columns: %q", keys, width, height, terminal.Columns(bare), bare)
					}
				}
			}
		}
	}
}

// uncoloured returns a line without color codes.
func uncoloured(line string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(line, "\x1b[") {
		if b.Len() == 0 && !strings.HasPrefix(line, "\x1b[") {
			b.WriteString(part)
			continue
		}
		if _, rest, ok := strings.Cut(part, "m"); ok {
			b.WriteString(rest)
		}
	}
	return b.String()
}

// TestNoCodesOfOthers checks that escape codes in recorded texts never reach the terminal.
func TestNoCodesOfOthers(t *testing.T) {
	t.Parallel()
	room := acme(0)
	room.Runs[0].What, room.Needs[0].Title, room.Company = "a\x1b[2Jb", "c\x1b]0;x\ad", "Ac\u009bme"
	s := show(t, room, 80, 24, Options{Unicode: true})
	for _, keys := range [][]string{{"1"}, {"2"}, {"4"}} {
		s.typeKeys(keys...)
		if text := strings.Join(s.screen(), "\n"); strings.ContainsAny(text, "\x1b\a\u009b") {
			t.Errorf("after %v: %q", keys, text)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		keys []string
		acts []string
	}{
		{"allow what the selected run asks", []string{"a", "o", "k", "enter"}, []string{`decide permission:1 true "ok" `}},
		{"deny it", []string{"d", "enter"}, []string{`decide permission:1 false "" `}},
		{"keep it", []string{"a", "esc"}, nil},
		{"approve memory only when all of it was seen", []string{"2", "j", "a", "a", "enter"}, []string{`decide memory:2 true "" h1`}},
		{"answer a question instead of approving it", []string{"2", "G", "a", "1", "enter"}, []string{`answer question:3 "1"`}},
		{"an empty answer is none", []string{"2", "G", "A", "enter"}, nil},
		{"say something to a run", []string{"j", "i", "h", "i", "enter"}, []string{`say run_2 "hi"`}},
		{"say something to the run that asks", []string{"2", "i", "w", "enter"}, []string{`say run_1 "w"`}},
		{"send a message", []string{"4", "i", "x", "enter"}, []string{`send conv_1 "x"`}},
		{"stop", []string{"s", "y"}, []string{"stop run_1"}},
		{"stop not", []string{"s", "n"}, nil},
		{"stop nothing that is over", []string{"G", "s", "y"}, nil},
		{"land", []string{"G", "l", "y"}, []string{"land run_4"}},
		{"land not", []string{"l", "esc"}, nil},
		{"start", []string{"n", "enter", "g", "o", "enter"}, []string{`start Ann "go"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := show(t, acme(0), 80, 30, Options{Unicode: true})
			s.typeKeys(c.keys...)
			if !slices.Equal(s.company.acts, c.acts) {
				t.Errorf("%v: %q, want %q; %s", c.keys, s.company.acts, c.acts, s.message)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	l := lineOf("one two")
	for _, name := range []string{"left", "left", "backspace", "x", "home", "delete", "end", "ctrl+w"} {
		l.key(keyNamed(name))
	}
	if l.value() != "ne " {
		t.Errorf("%q", l.value())
	}
	l.insert("日本\x1b[2J\nlast")
	if text, at := l.view(6); strings.ContainsAny(text, "\x1b\n") || at >= 6 || !strings.HasSuffix(text, "last") {
		t.Errorf("%q at %d", text, at)
	}
}

// TestApproveOnSmallScreen checks that a small screen shows the whole change before it can be
// approved.
func TestApproveOnSmallScreen(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 50, 15, Options{})
	s.typeKeys("2", "j", "a")
	if s.ask != nil || !s.inBody {
		t.Fatal("it asks before anything was shown")
	}
	for range 10 {
		if s.ask == nil {
			s.typeKeys("a")
		}
	}
	s.typeKeys("enter")
	if want := []string{`decide memory:2 true "" h1`}; !slices.Equal(s.company.acts, want) {
		t.Errorf("%q", s.company.acts)
	}
}

// TestReadOnly checks that --read-only disables the keys that change the company.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{ReadOnly: true})
	s.typeKeys("a", "enter", "s", "y", "n", "enter", "i", "x", "enter", "l", "y")
	if len(s.company.acts) > 0 || s.ask != nil {
		t.Errorf("%q", s.company.acts)
	}
}

// TestSelectionStays checks that the selection follows its id when rows are added above it. If its
// row disappears, the next one is selected.
func TestSelectionStays(t *testing.T) {
	t.Parallel()
	s := show(t, acme(5), 80, 24, Options{})
	s.typeKeys("j", "j")
	room := acme(5)
	room.Runs = append([]Run{{ID: "run_new", Short: "NEW"}}, room.Runs...)
	s.take(roomMsg(room))
	if s.selected() != "run_3" {
		t.Errorf("selected %s", s.selected())
	}
	room.Runs = slices.DeleteFunc(slices.Clone(room.Runs), func(r Run) bool { return r.ID == "run_3" })
	s.take(roomMsg(room))
	if s.selected() != "run_4" {
		t.Errorf("selected %s after it went", s.selected())
	}
}

// TestRefusal checks that the bottom line shows why an action was refused, until the next key.
func TestRefusal(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{})
	s.company.fail = errors.New("denied by rule run.stop")
	s.typeKeys("s", "y")
	if lines := s.screen(); !strings.Contains(lines[23], "denied by rule run.stop") {
		t.Errorf("%q", lines[23])
	}
	s.typeKeys("k")
	if lines := s.screen(); strings.Contains(lines[23], "denied") {
		t.Errorf("%q", lines[23])
	}
}

// TestLost checks that the first line reports a lost workspace, and that the next key quits.
func TestLost(t *testing.T) {
	t.Parallel()
	s := show(t, acme(0), 80, 24, Options{})
	s.take(lostMsg{errors.New("no such folder")})
	if lines := s.screen(); !strings.Contains(lines[0], "no such folder") {
		t.Errorf("%q", lines[0])
	}
	if _, cmd := s.Update(keyNamed("j")); cmd == nil {
		t.Fatal("it stays")
	} else if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Errorf("it does not quit")
	}
}

// TestManyRuns checks that the cost of drawing depends on what is visible, not on the number of
// runs.
func TestManyRuns(t *testing.T) { //nolint:paralleltest // it counts allocations
	few, many := show(t, acme(30), 80, 24, Options{}), show(t, acme(3000), 80, 24, Options{})
	a, b := testing.AllocsPerRun(10, func() { few.screen() }), testing.AllocsPerRun(10, func() { many.screen() })
	if b > 2*a {
		t.Errorf("a picture of 3,000 runs takes %v allocations, one of 30 takes %v", b, a)
	}
}
