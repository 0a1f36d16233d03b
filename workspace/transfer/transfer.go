// Package transfer copies a whole workspace to another place: export and import.
//
// Invariants:
//   - At every moment the target is the old tree or the new one. After a failure it is the
//     old one.
//   - Only a workspace is ever replaced, and never the source.
//   - The source is only read.
//   - Every copied file is read back and compared.
package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
)

// Order describes one transfer.
type Order struct {
	Env    workspace.Env
	From   string // canonical
	To     string // canonical
	Local  bool   // include the machine-specific part
	Force  bool   // replace a workspace at the target
	Import bool   // from a copy that may lack the machine-specific part
	// Busy returns an error if something runs in the workspace to be replaced.
	Busy func(*workspace.Workspace) error
}

// Report is the result of a transfer.
type Report struct {
	Entries []string // the top-level names that were copied
	// Skipped lists names that were not copied: special files, and symlinks whose target is
	// not copied.
	Skipped []string
	// Found is the validation of the new workspace.
	Found validate.Findings
}

// Run performs the transfer. The new workspace is durable on return.
func (o Order) Run(ctx context.Context) (report Report, err error) {
	from, err := workspace.Open(o.Env, o.From)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := o.checkSource(ctx, from); err != nil {
		return report, err
	}
	occupied, err := o.checkTarget(ctx)
	if err != nil {
		return report, err
	}
	site, err := workspace.NewTreeSwap(o.Env, o.To)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	report, err = o.fill(ctx, from, site)
	if err != nil {
		return report, err
	}
	if !occupied {
		return report, site.Place()
	}
	return report, o.replace(ctx, site)
}

// checkSource finishes interrupted writes, so that no partial one is copied, and rejects an
// invalid source.
func (o Order) checkSource(ctx context.Context, from *workspace.Workspace) error {
	if from.NeedsRecovery() {
		if err := from.Recover(ctx); err != nil {
			return err
		}
	}
	for _, issue := range validate.Folder(o.Env, o.From).Issues {
		if o.Import && missingOnArrival(issue) {
			continue
		}
		return fault.New(fault.InvalidFile, "%s is not a valid workspace, nothing was copied: %s", o.From, issue.Message)
	}
	return nil
}

// missingOnArrival reports whether an import creates the missing item: machine-specific
// files, and directories that git drops when empty.
func missingOnArrival(issue validate.Issue) bool {
	return issue.Code == "missing_dir" || (issue.Code == "missing_file" && issue.Path == workspace.MachineFile)
}

// checkTarget rejects a target that must not be replaced. occupied reports whether the target
// is a workspace to be replaced.
func (o Order) checkTarget(ctx context.Context) (occupied bool, err error) {
	if err := o.checkOverlap(); err != nil {
		return false, err
	}
	empty, err := isEmpty(o.To)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, fault.New(fault.Conflict, "%s is not a directory", o.To)
	case err != nil:
		return false, fault.New(fault.IO, "cannot look at %s: %w", o.To, err)
	case empty:
		return false, nil
	case !o.Force:
		return false, fault.New(fault.NotEmpty, "%s is not empty; nothing was changed (choose another directory, or force to replace the workspace there)", o.To)
	}
	target, err := workspace.Open(o.Env, o.To)
	if err != nil {
		return false, &fault.Error{
			Reason: fault.NotAWorkspace, Cause: err,
			Message: o.To + " is neither empty nor a workspace (it has no " + workspace.CompanyFile + "); nothing was changed, with force or without",
		}
	}
	if target.NeedsRecovery() {
		err = target.Recover(ctx)
	}
	if err == nil {
		err = o.Busy(target)
	}
	return true, errors.Join(err, target.Close())
}

// isEmpty reports whether a directory is empty. If the directory was replaced during the
// check, it checks the new one.
func isEmpty(dir string) (empty bool, err error) {
	for {
		f, err := os.Open(dir) //nolint:gosec // the target that the caller named
		if err != nil {
			return false, err
		}
		entries, err := f.Readdirnames(1)
		opened, statErr := f.Stat()
		_ = f.Close() // opened for reading only
		switch {
		case statErr != nil:
			return false, statErr
		case len(entries) > 0:
			return false, nil
		case !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist): // ErrNotExist: it was removed
			return false, err
		}
		if now, err := os.Stat(dir); err != nil || os.SameFile(opened, now) {
			return err == nil, err
		}
	}
}

// fill copies the source into the new tree and creates what an import may lack.
func (o Order) fill(ctx context.Context, from *workspace.Workspace, site *workspace.TreeSwap) (report Report, err error) {
	into, err := o.Env.FS(site.Dir())
	if err != nil {
		return report, err
	}
	c := &copying{from: from.FS, into: into, source: o.From, done: map[string]durable.Version{}, local: o.Local}
	if c.forbidden, err = identitiesAbove(filepath.Join(o.To, "within")); err == nil {
		err = c.all(ctx, from)
	}
	if err == nil {
		err = o.complete(into)
	}
	if err == nil {
		err = c.seal()
	}
	if err = errors.Join(err, into.Close()); err != nil {
		return report, err
	}
	report = Report{Entries: c.entries, Skipped: c.skipped, Found: validate.Folder(o.Env, site.Dir())}
	return report, nil
}

// complete creates what an import may lack.
func (o Order) complete(into durable.FS) error {
	if !o.Import {
		return nil
	}
	for _, dir := range workspace.RequiredDirs() {
		if err := durable.MkdirAll(into, dir, 0o755); err != nil {
			return err
		}
	}
	if durable.Exists(into, workspace.MachineFile) {
		return nil
	}
	text, err := doc.MachineCodec.Encode(workspace.DefaultMachine())
	if err != nil {
		return err
	}
	return errors.Join(durable.WriteNew(into, workspace.MachineFile, text, 0o600), into.SyncDir(workspace.LocalDir))
}

// replace exchanges the target with the new tree while other processes cannot write there. If
// another transfer has replaced the target meanwhile, replace opens the new target and
// retries.
func (o Order) replace(ctx context.Context, site *workspace.TreeSwap) error {
	for {
		target, err := workspace.Open(o.Env, o.To)
		if err != nil {
			return err
		}
		placed, err := o.replaceAt(ctx, site, target)
		again := !placed && (err == nil || target.Replaced())
		if closeErr := target.Close(); !again || closeErr != nil {
			return errors.Join(err, closeErr)
		}
	}
}

// replaceAt replaces the opened target. It places nothing and returns no error if another
// directory has taken the target's place.
func (o Order) replaceAt(ctx context.Context, site *workspace.TreeSwap, target *workspace.Workspace) (placed bool, err error) {
	if !durable.Exists(target.FS, workspace.LocksDir) {
		if target.Replaced() {
			return false, nil
		}
		return true, site.Replace() // an inactive copy: there is nothing to lock
	}
	err = target.Update(ctx, func(*workspace.Unit) error {
		if err := o.Busy(target); err != nil || target.Replaced() {
			return err
		}
		placed = true
		return site.Replace()
	})
	return placed, err
}
