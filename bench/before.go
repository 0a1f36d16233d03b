package main

// Comparison with an earlier revision. The groups of both revisions alternate, so that both run on
// the machine under the same conditions.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// earlier is a revision of the module with its own benchmarks.
type earlier struct {
	program string // its built benchmarks
	dir     string // their working directory
}

// checkOut builds the benchmarks of a revision in a shared clone. The repository itself stays
// unchanged.
func (b *bench) checkOut(ctx context.Context, revision string) (earlier, error) {
	root, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return earlier{}, fmt.Errorf("find the repository: %w", err)
	}
	clone := b.path("before")
	for _, argv := range [][]string{
		{"git", "clone", "-q", "--shared", "--no-checkout", strings.TrimSpace(string(root)), clone},
		{"git", "-C", clone, "checkout", "-q", "--detach", revision},
	} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of our own words
			return earlier{}, fmt.Errorf("check %s out: %w\n%s", revision, err, out)
		}
	}
	e := earlier{program: b.path("bench-before"), dir: filepath.Join(clone, "bench")}
	command := "."
	if _, err := os.Stat(e.dir); err != nil { // revisions in which bench was not a separate module
		e.dir, command = clone, "./internal/bench"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", e.program, command)
	build.Dir = e.dir
	if out, err := build.CombinedOutput(); err != nil {
		return earlier{}, fmt.Errorf("build the benchmarks of %s: %w\n%s", revision, err, out)
	}
	return e, nil
}

// measure returns the figures of one group, or none if the revision does not have it.
func (e earlier) measure(ctx context.Context, group string) ([]figure, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, e.program, "--json", "--only", group) //nolint:gosec // it was built here
	cmd.Dir, cmd.Stderr = e.dir, &said
	out, err := cmd.Output()
	if err != nil && strings.Contains(said.String(), "nothing is called") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("before: %s: %w\n%s", group, err, said.Bytes())
	}
	var found []figure
	return found, json.Unmarshal(out, &found)
}

// compare prints the figures of this revision and of an earlier one side by side. If a page is
// named, it also writes them into the page.
func (b *bench) compare(ctx context.Context, revision string, groups []measurement, page string) error {
	loads := conditions("at the beginning")
	now, before, err := b.measureBoth(ctx, revision, groups)
	table := beforeTable(now, before, append(loads, conditions("at the end")...))
	fmt.Print(table)
	if page != "" && err == nil {
		err = writeTable(page, "before", table)
	}
	return err
}

// measureBoth measures each group of this revision and then of the earlier one.
func (b *bench) measureBoth(ctx context.Context, revision string, groups []measurement) (now, before []figure, err error) {
	e, err := b.checkOut(ctx, revision)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range groups {
		fmt.Fprintf(os.Stderr, "measuring %s\n", m.name)
		found, failed := b.measure(ctx, m)
		then, failedThen := e.measure(ctx, m.name)
		now, before = append(now, found...), append(before, then...)
		err = errors.Join(err, failed, failedThen)
	}
	return now, before, err
}

// beforeTable returns a table of the figures that both revisions have with the same title and unit,
// in this revision's order. The loads of the machine follow the table.
func beforeTable(now, before, loads []figure) string {
	var t strings.Builder
	t.WriteString("| what | before | now | now / before |\n|---|---|---|---|\n")
	for _, f := range now {
		at := slices.IndexFunc(before, func(g figure) bool { return g.title() == f.title() && g.Unit == f.Unit })
		if at < 0 {
			continue
		}
		ratio := ""
		if before[at].Seen != 0 {
			ratio = fmt.Sprintf("%.2f", f.Seen/before[at].Seen)
		}
		cells := []string{f.title(), show(before[at].Seen, f.Unit), show(f.Seen, f.Unit), ratio}
		fmt.Fprintf(&t, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, load := range loads {
		fmt.Fprintf(&t, "\n%s: %s\n", load.Name, strings.TrimSpace(show(load.Seen, load.Unit)))
	}
	return t.String()
}
