package main

// Growth: the cost of the same operations with 10, 100, 1,000 and 10,000 runs, and with 4,000,000
// events.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/workspace"
)

// growthPatience is the time limit of one size. The largest writes and reads gigabytes.
const growthPatience = 30 * time.Minute

// growth is one size: a number of runs, and of events in each.
type growth struct{ runs, events int }

func growths() []growth {
	return []growth{{10, eventsPerRun}, {100, eventsPerRun}, {1_000, eventsPerRun}, {10_000, eventsPerRun}, {10_000, 2 * eventsPerRun}}
}

// measureGrowth measures all sizes, one after the other. The largest has 4,000,000 events.
func measureGrowth(ctx context.Context, b *bench) (found []figure, err error) {
	for i, g := range growths() {
		fmt.Fprintf(os.Stderr, "measuring %s\n", g)
		some, err := g.measure(ctx, b, i)
		if err != nil {
			return found, fmt.Errorf("%s: %w", g, err)
		}
		found = append(found, some...)
	}
	return found, nil
}

func (g growth) String() string { return fmt.Sprintf("%d runs, %d events", g.runs, g.runs*g.events) }

func (g growth) measure(ctx context.Context, b *bench, i int) (found []figure, err error) {
	ctx, cancel := context.WithTimeout(ctx, growthPatience)
	defer cancel()
	name := fmt.Sprintf("growth%d", i)
	x, err := b.indexFixtureOf(ctx, name, g.runs, g.events)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, x.close(), os.RemoveAll(b.path(name))) // frees disk space for the next, larger one
	}()
	if err := errors.Join(x.project(), age(ctx)); err != nil {
		return nil, err
	}
	c, err := x.cost(ctx, 1, 5)
	if err != nil {
		return nil, err
	}
	total, of := g.runs*g.events, g.String()
	found = []figure{
		{Name: "index rebuild", Of: of, Unit: "/s", Seen: rate(total, c.built.median()), Note: c.built.median().Round(time.Millisecond).String() + fmt.Sprintf(" for logs of %d MB", x.logs/1e6)},
		{Name: "index size, share of the logs", Of: of, Unit: "", Seen: float64(c.size) / float64(x.logs)},
		{Name: "index sync, unchanged", Of: of, Unit: "ms", Seen: ms(c.idle.median()), Limit: ms(c.looks.median()), By: "lstat of the same files", Note: c.idle.spread()},
		{Name: "index sync after one event", Of: of, Unit: "ms", Seen: ms(c.appended.median()), Limit: ms(c.idle.median()), By: "sync, unchanged", Note: c.appended.spread()},
	}
	for _, method := range []string{"run.list", "monitor.snapshot", "workspace.open"} {
		params := map[string]any{"workspace_dir": x.w.Dir()}
		cold, warm, err := b.coldAndWarm(ctx, method, params)
		if err != nil {
			return found, err
		}
		found = append(found,
			figure{Name: method + ", cold", Of: of, Unit: "ms", Seen: ms(cold.median()), Note: cold.spread()},
			figure{Name: method + ", warm", Of: of, Unit: "ms", Seen: ms(warm.median()), Note: warm.spread()})
	}
	checked, err := repeat(1, func() error { return x.verifyAll(ctx) })
	return append(found, figure{Name: "logs verified", Of: of, Unit: "MB/s", Seen: float64(x.logs) / 1e6 / checked.median().Seconds()}), err
}

// growthTable returns a table with a column for each size and a row for each figure.
func growthTable(figures []figure) string {
	var sizes, things []string
	cells := map[[2]string]string{}
	var rest []string
	for _, f := range figures {
		if f.Of == "" {
			rest = append(rest, f.Name+": "+strings.TrimSpace(show(f.Seen, f.Unit)))
			continue
		}
		if !slices.Contains(sizes, f.Of) {
			sizes = append(sizes, f.Of)
		}
		if !slices.Contains(things, f.Name) {
			things = append(things, f.Name)
		}
		cells[[2]string{f.Name, f.Of}] = strings.TrimSpace(show(f.Seen, f.Unit))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| what | %s |\n|---|%s\n", strings.Join(sizes, " | "), strings.Repeat("---|", len(sizes)))
	for _, thing := range things {
		b.WriteString("| " + thing + " |")
		for _, size := range sizes {
			b.WriteString(" " + cells[[2]string{thing, size}] + " |")
		}
		b.WriteString("\n")
	}
	for _, line := range rest {
		b.WriteString("\n" + line + "\n")
	}
	return b.String()
}

// verifyAll verifies the logs of all runs.
func (x *indexed) verifyAll(ctx context.Context) error {
	for i := range x.runs {
		file, err := os.Open(filepath.Join(x.w.Dir(), filepath.FromSlash(workspace.LogFile("proj", indexRun(i)))))
		if err != nil {
			return err
		}
		_, err = events.Verify(file, nil, false, nil)
		if err = errors.Join(err, file.Close(), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// project writes the record of the project that the fixture's runs belong to.
func (x *indexed) project() error {
	record := "schema_version: 1\ntype: project\nid: proj\nname: P\nstatus: active\ncreated_at: 2026-01-01T00:00:00.000Z\n"
	return os.WriteFile(filepath.Join(x.w.Dir(), filepath.FromSlash(workspace.ProjectDir("proj")), "project.yaml"), []byte(record), 0o600)
}
