package workspace

// Exchanging a tree of the workspace for one that was built aside.

import (
	"errors"
	"path"

	"ac/internal/durable"
)

// exchangeFor asks for the tree at a name to be replaced by the one at from, or
// for that to be moved there where the name is free. What was at the name is at
// from afterwards.
func (u *Unit) exchangeFor(name, from string) error {
	if !u.w.Exists(name) {
		u.ops = append(u.ops, operation{Kind: opRename, Name: name, From: from})
		return nil
	}
	st, err := u.w.FS.Stat(from)
	if err == nil {
		u.ops = append(u.ops, operation{Kind: opExchange, Name: name, From: from, Identity: durable.IdentityOf(st)})
	}
	return err
}

func (w *Workspace) exchange(op *operation) error {
	err := exchange(w.FS, op.Name, op.From)
	return errors.Join(err, w.FS.SyncDir(path.Dir(op.Name)), w.FS.SyncDir(path.Dir(op.From)))
}

// identity is which file or directory a name is; the zero value for none.
func (w *Workspace) identity(name string) durable.Identity {
	st, err := w.FS.Lstat(name)
	if err != nil {
		return durable.Identity{}
	}
	return durable.IdentityOf(st)
}

// exchange swaps two names. Where the system has no single step for that, it
// takes three, the first of which frees the name a.
func exchange(fsys durable.FS, a, b string) error {
	err := fsys.Exchange(a, b)
	if !errors.Is(err, durable.ErrNoExchange) {
		return err
	}
	aside := b + ".old"
	if err := fsys.Rename(a, aside); err != nil {
		return err
	}
	if err := fsys.Rename(b, a); err != nil {
		return errors.Join(err, fsys.Rename(aside, a))
	}
	return fsys.Rename(aside, b)
}
