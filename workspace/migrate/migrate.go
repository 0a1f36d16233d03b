// Package migrate converts a workspace of older programs to the current format: the events
// of every run in sealed envelopes.
//
// Invariants:
//   - No evidence is lost, neither a line nor a seal. A log whose seals do not match its
//     content is left unchanged. If seals change, the original is kept.
//   - The next migration finishes an interrupted one.
//   - Concurrent appends are not lost.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// EnvelopeID is the id of the only migration.
const EnvelopeID = "2026-02-12-event-envelope-v1-backfill"

// StateFile lists the migrations applied to a workspace.
const StateFile = "company/migrations/applied.yaml"

// Options are the options of Run.
type Options struct {
	// DryRun counts and writes nothing.
	DryRun bool
	// Force migrates a workspace again, and reseals logs whose seals do not match. The
	// originals are kept.
	Force bool
}

// Counts are the numbers that a migration reports.
type Counts struct {
	FilesScanned    int `json:"files_scanned"`
	FilesUpdated    int `json:"files_updated"`
	EventsRewritten int `json:"events_rewritten"`
	ParseErrors     int `json:"parse_errors"`
	// FilesSkipped counts the logs whose seals do not match. SkippedFiles lists them.
	FilesSkipped int      `json:"files_skipped,omitempty"`
	SkippedFiles []string `json:"skipped_files,omitempty"`
}

// Report is the outcome of Run.
type Report struct {
	Already bool // an earlier migration applied it
	Counts
}

// Run migrates a workspace. Its result is durable on return. After a failure some logs may be
// migrated, and the next run does the rest.
func Run(ctx context.Context, w *workspace.Workspace, opts Options) (Report, error) {
	if !opts.Force {
		done, err := applied(w)
		if err != nil || done {
			return Report{Already: done}, err
		}
	} else if _, err := applied(w); err != nil {
		return Report{}, err
	}
	var report Report
	err := eachRun(w, func(project, run string) error {
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Canceled, "the migration was interrupted; run it again to finish it: %w", err)
		}
		l := &log{w: w, project: project, run: run, opts: opts}
		found, err := l.migrate(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("migrate %s: %w", l.name(), err)
		}
		report.add(found)
		return nil
	})
	if err != nil || opts.DryRun {
		return report, err
	}
	return report, record(ctx, w, report.Counts)
}

func (c *Counts) add(more Counts) {
	c.FilesScanned += more.FilesScanned
	c.FilesUpdated += more.FilesUpdated
	c.EventsRewritten += more.EventsRewritten
	c.ParseErrors += more.ParseErrors
	c.FilesSkipped += more.FilesSkipped
	c.SkippedFiles = append(c.SkippedFiles, more.SkippedFiles...)
}

// eachRun visits the runs in name order.
func eachRun(w *workspace.Workspace, visit func(project, run string) error) error {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return err
	}
	for _, project := range projects {
		runs, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := visit(project, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// log is the log of one run during its migration.
type log struct {
	w            *workspace.Workspace
	project, run string
	opts         Options
	unit         *workspace.Unit // nil until the write lock is held
}

func (l *log) name() string { return workspace.LogFile(l.project, l.run) }

// migrate first inspects the log without a lock, since most logs need no change.
func (l *log) migrate(ctx context.Context) (Counts, error) {
	f, err := l.w.FS.OpenFile(l.name(), 0, 0)
	if err != nil {
		return Counts{}, err
	}
	s, err := l.sealer()
	if err == nil {
		err = s.read(f, nil)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Counts{}, err
	}
	unfinished := durable.Exists(l.w.FS, l.intentFile())
	if l.opts.DryRun || s.refused || (s.rewritten == 0 && !s.reshaped && !unfinished) {
		return l.counts(s), nil
	}
	err = l.w.Update(ctx, func(u *workspace.Unit) error {
		l.unit = u
		if err := l.finish(); err != nil {
			return err
		}
		return l.rewrite(ctx, &s)
	})
	if err != nil {
		return Counts{}, err
	}
	return l.counts(s), l.dropIntent()
}

func (l *log) counts(s *sealer) Counts {
	if s.refused {
		return Counts{FilesScanned: 1, FilesSkipped: 1, SkippedFiles: []string{l.name()}}
	}
	c := Counts{FilesScanned: 1, EventsRewritten: s.rewritten, ParseErrors: s.unreadable}
	if s.rewritten > 0 {
		c.FilesUpdated = 1
	}
	return c
}

func (l *log) sealer() (*sealer, error) {
	s := &sealer{run: l.run, force: l.opts.Force}
	run, err := l.record()
	if err == nil {
		s.checkpoint = run.Log
	}
	return s, err
}

// rewrite replaces the log under its lock and updates the checkpoint in the
// run's record.
func (l *log) rewrite(ctx context.Context, last **sealer) error {
	return events.Rewrite(ctx, l.w.FS, l.name(), l.w.TempName(l.name()), l.rewriting(last))
}
