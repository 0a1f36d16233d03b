package workspace

// Exchanging a tree of the workspace with a staged one.

import (
	"errors"
	"path"

	"ac/internal/durable"
)

// exchangeFor queues the exchange of the tree at name with the one at from, or a plain rename
// if name is free. After an exchange the old tree is at from.
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

// identity returns the device and inode of a name, or the zero value if it is missing.
func (w *Workspace) identity(name string) durable.Identity {
	st, err := w.FS.Lstat(name)
	if err != nil {
		return durable.Identity{}
	}
	return durable.IdentityOf(st)
}

// exchange swaps two names. Where the system cannot do so atomically, it uses three renames.
// In between, the name a is briefly missing.
func exchange(fsys durable.FS, a, b string) error {
	err := fsys.Exchange(a, b)
	if !errors.Is(err, durable.ErrNoExchange) {
		return err
	}
	spare := b + ".old"
	if err := fsys.Rename(a, spare); err != nil {
		return err
	}
	if err := fsys.Rename(b, a); err != nil {
		return errors.Join(err, fsys.Rename(spare, a))
	}
	return fsys.Rename(spare, b)
}
