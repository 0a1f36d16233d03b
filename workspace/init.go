package workspace

// Initializing a workspace.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// InitOptions are the options of Init.
type InitOptions struct {
	CompanyName string
	// Force initializes a directory that is not empty. Valid documents there stay.
	Force bool
}

// Init makes a directory a workspace. Without Force it must be empty or missing. Init is then
// atomic: after an interruption, the whole workspace exists or none of it.
func Init(ctx context.Context, env Env, dir string, opts InitOptions) error {
	if strings.TrimSpace(opts.CompanyName) == "" {
		return fault.InvalidField("company_name", "must not be blank")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 || !opts.Force {
		return Create(ctx, env, dir, CreateOptions{CompanyName: opts.CompanyName})
	}
	fsys, err := env.FS(dir)
	if err != nil {
		return fault.New(fault.IO, "cannot open %s: %w", dir, err)
	}
	w := newWorkspace(env, dir, fsys)
	return errors.Join(w.init(ctx, opts.CompanyName), w.Close())
}

// syncNames makes the names of newly created directories durable, from dir up to made, the
// topmost new one.
func syncNames(env Env, made, dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		parent, err := env.FS(filepath.Dir(at))
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

// makeDurable creates a directory whose topmost missing parent is top, and makes every new
// name durable.
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

// init creates whatever an empty company lacks.
func (w *Workspace) init(ctx context.Context, companyName string) error {
	for _, dir := range RequiredDirs() {
		if err := durable.MkdirAll(w.FS, dir, 0o755); err != nil {
			return fault.New(fault.IO, "cannot make %s: %w", dir, err)
		}
	}
	write := func(u *Unit) error {
		now := clock.Stamp(w.Env.Clock.Now())
		company := doc.Company{SchemaVersion: doc.Version, Type: "company", ID: w.Env.IDs.New("cmp"), Name: companyName, CreatedAt: now}
		if old, err := LoadIn(u, doc.CompanyCodec, CompanyFile); err == nil {
			company.ID, company.CreatedAt, company.SchemaVersion = old.ID, old.CreatedAt, old.SchemaVersion
		}
		policy := doc.Policy{
			SchemaVersion: doc.Version, Type: "policy", ID: w.Env.IDs.New("art"),
			VisibilityDefaults: doc.VisibilityDefaults{
				WorkerJournal: "private_agent", WorkerMilestoneArtifact: "team", ManagerProposal: "managers", DirectorWorkplan: "org",
			},
		}
		// company.yaml comes first, since it makes the directory a workspace.
		return errors.Join(
			initDocument(u, doc.CompanyCodec, CompanyFile, company, 0o644, true),
			initDocument(u, doc.PolicyCodec, PolicyFile, policy, 0o644, false),
			initDocument(u, doc.MachineCodec, MachineFile, DefaultMachine(), 0o600, false),
		)
	}
	return w.Update(ctx, write)
}

// initDocument writes a document that is missing or invalid. It keeps an invalid one under
// another name, and rewrites a valid one only if update is set.
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
	invalid := name + ".invalid-" + u.w.Env.Clock.Now().UTC().Format("20060102T150405.000Z")
	if old == nil {
		// Its content cannot be read (not a file, or too large), so rename it.
		if err := u.w.FS.Rename(name, invalid); err != nil {
			return err
		}
		return Put(u, codec, name, document, perm)
	}
	text, err := codec.Encode(document)
	if err != nil {
		return err
	}
	return errors.Join(u.Write(invalid, old, perm), u.Write(name, text, perm))
}
