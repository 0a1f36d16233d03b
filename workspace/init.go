package workspace

// Making a workspace.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// InitOptions are the choices of Init.
type InitOptions struct {
	CompanyName string
	// Force makes a workspace of a directory that has something in it. What is
	// valid there stays.
	Force bool
}

// Init makes a directory a workspace. Without Force it must be empty or
// missing. When it fails in a directory that did not exist, nothing is left.
func Init(ctx context.Context, env Env, dir string, opts InitOptions) error {
	if strings.TrimSpace(opts.CompanyName) == "" {
		return fault.InvalidField("company_name", "must not be blank")
	}
	made, err := prepareDir(dir, opts.Force)
	if err != nil {
		return err
	}
	err = initTree(ctx, env, dir, opts)
	if err == nil && made != "" {
		err = syncNames(env, made, dir)
	}
	if err != nil && made != "" {
		err = errors.Join(err, os.RemoveAll(made))
	}
	return err
}

// syncNames makes the names of the directories durable that were made for a
// workspace, from the topmost one down to its own.
func syncNames(env Env, made, dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		parent, err := openFS(env, filepath.Dir(at))
		if err != nil {
			return fault.New(fault.IO, "cannot open the directory of %s: %w", at, err)
		}
		if err := errors.Join(parent.SyncDir("."), parent.Close()); err != nil {
			return fault.New(fault.IO, "cannot make %s durable: %w", at, err)
		}
		if at == made {
			return nil
		}
	}
}

// prepareDir makes the directory and tells the topmost one that was made.
func prepareDir(dir string, force bool) (made string, err error) {
	refuse := func(reason fault.Reason, err error) error {
		return fault.New(reason, "cannot make a workspace in %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0 && !force:
		return "", fault.New(fault.NotEmpty, "%s is not empty; nothing was touched (choose an empty directory, or force to add a workspace to what is there)", dir)
	case err == nil:
		return "", nil
	case !errors.Is(err, fs.ErrNotExist):
		if errors.Is(err, syscall.ENOTDIR) {
			return "", fault.New(fault.Conflict, "%s is not a directory", dir)
		}
		return "", refuse(fault.IO, err)
	}
	made = dir
	for parent := filepath.Dir(made); parent != made; parent = filepath.Dir(made) {
		if _, err := os.Lstat(parent); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = parent
	}
	if err := makeDurable(made, dir); err != nil {
		return "", errors.Join(refuse(fault.IO, err), os.RemoveAll(made))
	}
	return made, nil
}

// makeDurable makes a directory whose topmost missing parent is top, and syncs
// the names of all of them.
func makeDurable(top, dir string) error {
	parent, err := durable.OpenRoot(filepath.Dir(top))
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(filepath.Dir(top), dir)
	if err == nil {
		err = durable.MkdirAll(parent, filepath.ToSlash(rel), 0o755)
	}
	return errors.Join(err, parent.Close())
}

func initTree(ctx context.Context, env Env, dir string, opts InitOptions) error {
	fsys, err := openFS(env, dir)
	if err != nil {
		return fault.New(fault.IO, "cannot open %s: %w", dir, err)
	}
	w := newWorkspace(env, dir, fsys)
	return errors.Join(w.init(ctx, opts), w.Close())
}

func (w *Workspace) init(ctx context.Context, opts InitOptions) error {
	for _, dir := range requiredDirs() {
		if err := durable.MkdirAll(w.FS, dir, 0o755); err != nil {
			return fault.New(fault.IO, "cannot make %s: %w", dir, err)
		}
	}
	write := func(u *Unit) error {
		now := clock.Stamp(w.Env.Clock.Now())
		company := doc.Company{SchemaVersion: doc.Version, Type: "company", ID: w.Env.IDs.New("cmp"), Name: opts.CompanyName, CreatedAt: now}
		if old, err := LoadIn(u, doc.CompanyCodec, CompanyFile); err == nil {
			company.ID, company.CreatedAt, company.SchemaVersion = old.ID, old.CreatedAt, old.SchemaVersion
		}
		policy := doc.Policy{
			SchemaVersion: doc.Version, Type: "policy", ID: w.Env.IDs.New("art"),
			VisibilityDefaults: doc.VisibilityDefaults{
				WorkerJournal: "private_agent", WorkerMilestoneArtifact: "team", ManagerProposal: "managers", DirectorWorkplan: "org",
			},
		}
		// company.yaml comes first: it is what makes the directory a workspace.
		return errors.Join(
			initDocument(u, doc.CompanyCodec, CompanyFile, company, 0o644, true),
			initDocument(u, doc.PolicyCodec, PolicyFile, policy, 0o644, false),
			initDocument(u, doc.MachineCodec, MachineFile, defaultMachine(), 0o600, false),
		)
	}
	return w.Update(ctx, write)
}

// initDocument writes a document that is missing or invalid; an invalid one is
// kept under another name. A valid one is only rewritten when update is set.
func initDocument[T any](u *Unit, codec yamldoc.Codec[T], name string, document T, perm fs.FileMode, update bool) error {
	old, err := u.Read(name)
	if fault.Is(err, fault.NotFound) {
		return Put(u, codec, name, document, perm)
	}
	if err == nil {
		if _, err = codec.Decode(old); err == nil {
			if update {
				return Put(u, codec, name, document, perm)
			}
			return nil
		}
	}
	aside := name + ".invalid-" + u.w.Env.Clock.Now().UTC().Format("20060102T150405.000Z")
	if old == nil {
		// Its content cannot be had (no file, or too large): the name is moved.
		if err := u.w.FS.Rename(name, aside); err != nil {
			return err
		}
		return Put(u, codec, name, document, perm)
	}
	text, err := codec.Encode(document)
	if err != nil {
		return err
	}
	return errors.Join(u.Write(aside, old, perm), u.Write(name, text, perm))
}
