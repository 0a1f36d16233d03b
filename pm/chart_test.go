package pm

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"ac/workspace/doc"
)

var update = flag.Bool("update", false, "write what was drawn to testdata")

// drawn returns the plans of the golden files.
func drawn() map[string]Plan {
	done, open := doc.Milestone{Status: "done"}, doc.Milestone{Status: "ready"}
	release := []doc.Task{
		task("a", "2026-03-02", 2), task("b", "", 5, "a"), task("c", "", 2, "a"), task("d", "", 3, "b", "c"), task("e", "2026-03-04", 1),
	}
	for i, title := range []string{"Design the format", "Write the parser", "Ask three customers", "Ship the first release of it to everybody", "Vorträge für Ämter 日本語"} {
		release[i].Title = title
	}
	release[0].Status = "done"
	release[1].Milestones = []doc.Milestone{done, done, open}
	circle := []doc.Task{task("a", "", 2, "b"), task("b", "", 3, "a"), task("c", "", 1, "b")}
	hostile := []doc.Task{task("x", "2026-03-01", 1), task("y", "", 40000)}
	hostile[0].Title = "</text><script>alert(1)</script>\x1b[2J\x07\u202e\x00 & \"quoted\""
	hostile[1].Title = strings.Repeat("endless ", 400)
	return map[string]Plan{
		"release": Schedule(release, today), "circle": Schedule(circle, today), "hostile": Schedule(hostile, today), "empty": Schedule(nil, today),
	}
}

func TestDrawings(t *testing.T) {
	t.Parallel()
	for name, p := range drawn() {
		var text, picture strings.Builder
		if err := errors.Join(p.WriteText(&text, 100, today), p.WriteSVG(&picture, "Release \"1\" & <more>", today)); err != nil {
			t.Fatal(err)
		}
		for file, got := range map[string]string{name + ".txt": text.String(), name + ".svg": picture.String()} {
			path := filepath.Join("testdata", file)
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
				t.Errorf("%s: %v %s", file, err, diff)
			}
		}
		for _, r := range text.String() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%s: %U reaches the terminal", name, r)
			}
		}
		if strings.Contains(picture.String(), "<script") {
			t.Errorf("%s: a title became markup", name)
		}
		decoder := xml.NewDecoder(strings.NewReader(picture.String()))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

// TestNarrow checks that bars fit the terminal, or 80 columns if it is narrower.
func TestNarrow(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{-5, 0, 1, 40, 80, 1000} {
		for name, p := range drawn() {
			var text strings.Builder
			if err := p.WriteText(&text, columns, today); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text.String()) {
				if wide := len([]rune(line)); strings.Contains(line, "▒") && wide > max(columns, 80)+1 && !strings.Contains(line, "to do") {
					t.Errorf("%s at %d columns: %d", name, columns, wide)
				}
			}
		}
	}
}

func BenchmarkLay(b *testing.B) {
	tasks := make([]doc.Task, 1000)
	for i := range tasks {
		tasks[i] = task(fmt.Sprintf("task_%04d", i), "", i%7+1, fmt.Sprintf("task_%04d", i/2), fmt.Sprintf("task_%04d", i/3))
	}
	for b.Loop() {
		Schedule(tasks, today)
	}
}
