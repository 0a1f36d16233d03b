package decisions

// run.changes: what a run changed.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ac/company"
	"ac/governance/files"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/changes"
	"ac/runs/worktree"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// Bounds of run.changes; sizes are in bytes. changesDiff bounds one diff, and the sum of all
// diffs if the request names no paths. changesDiffs bounds the sum of the diffs of requested
// paths.
const (
	changesLimit  = 5 * time.Second
	changesFiles  = 2000
	changesDiff   = 256 << 10 // of one diff; without paths, of all diffs together
	changesDiffs  = 2 << 20
	changesPatch  = 32 << 20
	changesForAll = 50 // checkpoints at most
)

// ChangesParams are the params of run.changes.
type ChangesParams struct {
	company.Dir
	ProjectID string   `json:"project_id" is:"id"`
	RunID     string   `json:"run_id" is:"id"`
	Paths     []string `json:"paths,omitempty" is:"optional"`
	Context   int      `json:"context" is:"default=3,min=0,max=20"`
	Form      string   `json:"form" is:"default=rows,enum=rows|patch"`
	Mask      bool     `json:"mask" is:"default=true"`
}

// RunChanges is the result of run.changes. A request for a patch sets only the fields outside of
// ChangeRows.
type RunChanges struct {
	RunID      string `json:"run_id"`
	State      string `json:"state"`
	BaseCommit string `json:"base_commit"`
	*ChangeRows
	Patch *string `json:"patch,omitempty"`
}

// ChangeRows is what a run changed, as rows.
type ChangeRows struct {
	RepoID string `json:"repo_id"`
	Branch string `json:"branch"`
	At     string `json:"at"`
	// Landed is the commit that the run was landed as.
	Landed *doc.Landed  `json:"landed,omitempty"`
	Totals ChangeTotals `json:"totals"`
	Files  []ChangeRow  `json:"files"`
	// TruncatedFiles is how many files are left out.
	TruncatedFiles int    `json:"truncated_files,omitempty"`
	Diffs          string `json:"diffs"`
	// Comments are the comments on lines of the files, oldest first.
	Comments    []ChangeComment       `json:"comments"`
	Checkpoints []files.CheckpointRow `json:"checkpoints"`
}

// ChangeTotals are the sums of all rows.
type ChangeTotals struct {
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// ChangeRow is a file that a run changed.
type ChangeRow struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	// OldPath is the path before a rename. The old file has a row of its own, as deleted.
	OldPath   string  `json:"old_path,omitempty"`
	Action    string  `json:"action"`
	Added     int     `json:"added"`
	Removed   int     `json:"removed"`
	Language  string  `json:"language"`
	Binary    bool    `json:"binary"`
	SHA256    *string `json:"sha256"`
	Diff      string  `json:"diff,omitempty"`
	Truncated bool    `json:"truncated,omitempty"`
}

// Changes returns what a run changed, even while its session is live. Results are cached for two
// seconds: many clients view a run at once, and git reads all of its files.
func (c Operations) Changes(ctx context.Context, p ChangesParams) (RunChanges, error) {
	key := fmt.Sprintf("%p %+v", c.Workspace(), p)
	known, keep := c.Host().RecentChanges().Answer(key, c.Workspace().Env.Clock.Now())
	if known, ok := known.(RunChanges); ok {
		return known, nil
	}
	result, err := c.readChanges(ctx, p)
	if err == nil && result.Patch == nil { // a patch may be large
		keep(result, c.Workspace().Env.Clock.Now())
	}
	return result, err
}

func (c Operations) readChanges(ctx context.Context, p ChangesParams) (result RunChanges, err error) {
	s, err := c.proposals()
	if err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(ctx, changesLimit)
	defer cancel()
	err = s.ReadChanges(ctx, p.ProjectID, p.RunID, func(set *changes.Set) (err error) {
		result, err = c.changesOf(ctx, p, set)
		return err
	})
	return result, err
}

// changesOf builds the result from a run's changes.
func (c Operations) changesOf(ctx context.Context, p ChangesParams, set *changes.Set) (result RunChanges, err error) {
	result = RunChanges{RunID: p.RunID, State: set.State, BaseCommit: set.Base}
	if p.Form == "patch" {
		patch, err := set.Patch(ctx, changesPatch)
		if errors.Is(err, worktree.ErrTooLong) {
			return result, fault.New(fault.TooLarge, "the patch has more than 32 MiB")
		}
		text := string(patch)
		result.Patch = &text
		return result, err
	}
	rows := changeRows{params: p, redactor: redact.NewRedactor(nil)}
	rows.Files, rows.Diffs = []ChangeRow{}, "all"
	if p.Paths != nil {
		rows.Diffs = "asked"
	}
	rows.Landed = set.Run.Landed
	rows.RepoID, rows.Branch, rows.At = set.RepoID, set.Branch, clock.Stamp(c.Workspace().Env.Clock.Now())
	if err := rows.read(ctx, set); err != nil {
		return result, err
	}
	if rows.Comments, err = c.changeComments(ctx, p); err != nil {
		return result, err
	}
	rows.Checkpoints, err = files.Checkpoints(c.Workspace(), p.ProjectID, changesForAll, func(plan checkpoint.Plan) bool { return plan.Source.RunID == p.RunID })
	result.ChangeRows = &rows.ChangeRows
	return result, err
}

// changeRows builds the rows of a run's changes.
type changeRows struct {
	ChangeRows
	params   ChangesParams
	redactor *redact.Redactor
	bytes    int // total size of the diffs
}

func (r *changeRows) read(ctx context.Context, set *changes.Set) error {
	chosen := set.Files
	if len(chosen) > changesFiles {
		r.TruncatedFiles = len(chosen) - changesFiles
		chosen = chosen[:changesFiles]
	}
	var renames changes.Renames
	err := set.Each(ctx, chosen, func(f changes.File, content changes.Content) error {
		row := r.row(f, content)
		renames.Note(f, content)
		r.Totals.Files++
		r.Totals.Added += row.Added
		r.Totals.Removed += row.Removed
		r.Files = append(r.Files, row)
		return nil
	})
	old := renames.Pairs()
	for i := range r.Files {
		r.Files[i].OldPath = old[r.Files[i].Path]
		if r.Diffs == "none" {
			r.Files[i].Diff = ""
		}
	}
	return err
}

func (r *changeRows) row(f changes.File, content changes.Content) ChangeRow {
	row := ChangeRow{ID: files.ID(r.params.RunID, f.Path), Path: f.Path, Language: files.Language(f.Path), Action: checkpoint.Modify}
	switch {
	case f.OldMode == "":
		row.Action = checkpoint.Create
	case f.NewMode == "":
		row.Action = checkpoint.Delete
	}
	row.Binary = !f.Regular() || files.IsBinary(content.From) || files.IsBinary(content.New)
	if content.New != nil {
		hash := checkpoint.Hash(content.New)
		row.SHA256 = &hash
	}
	if row.Truncated = content.TooLarge; row.Binary || content.TooLarge {
		return row
	}
	diff := files.Compare(f.Path, side(content.From, f.OldMode), side(content.New, f.NewMode))
	row.Added, row.Removed = diff.Added, diff.Removed
	r.diff(&row, diff)
	return row
}

func side(content []byte, mode string) files.Side {
	s := files.Side{Exists: mode != "", Content: content, Mode: 0o644}
	if changes.Executable(mode) {
		s.Mode = 0o755
	}
	return s
}

// diff adds the diff of a requested file. If the request names no paths, it adds the diffs of all
// files, or none if they are too long together.
func (r *changeRows) diff(row *ChangeRow, diff files.Diff) {
	asked, total := r.params.Paths != nil, changesDiff
	if asked {
		if total = changesDiffs; !slices.Contains(r.params.Paths, row.Path) {
			return
		}
	}
	if r.Diffs == "none" {
		return
	}
	text, ok := diff.Unified(r.params.Context, changesDiff)
	if r.params.Mask {
		text = r.redactor.Text(text)
	}
	switch {
	case ok && r.bytes+len(text) <= total:
		row.Diff = strings.ToValidUTF8(text, "\uFFFD")
		r.bytes += len(text)
	case asked:
		row.Truncated = true
	default:
		r.Diffs = "none"
	}
}

// proposals returns the service of proposed files.
func (c Operations) proposals() (*files.Service, error) {
	return files.NewService(c.Workspace(), c.Host().ProposedFiles())
}
