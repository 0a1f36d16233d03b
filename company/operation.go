package company

// The one way into an operation, from the protocol, from commands and from the page:
// with params bound and checked, on what they name, with a result in its type.

import (
	"context"

	"ac/internal/param"
)

// Target is what an operation works on: all that this process has open, a folder, or
// the workspace in one.
type Target interface {
	*Host | *Folder | *Company
}

// inWorkspace are params that name a workspace.
type inWorkspace interface{ InWorkspace() string }

// Reach finds what an operation works on; the folder is that which its params name,
// nil where they name none.
func Reach[S Target](ctx context.Context, cs *Host, folder *Folder) (on S, err error) {
	switch target := any(&on).(type) {
	case **Host:
		*target = cs
	case **Folder:
		*target = folder
	case **Company:
		*target, err = folder.Enter(ctx)
	}
	return on, err
}

// Do carries out an operation with params that were made by a program: they are bound
// and checked by the same rules as those of a request. Its errors are those of the
// operation, fault.InvalidParams, and fault.NotAWorkspace.
func Do[S Target, P, R any](ctx context.Context, cs *Host, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	if p, err = param.Check(p); err != nil {
		return result, err
	}
	var folder *Folder
	if named, ok := any(p).(inWorkspace); ok {
		folder = cs.In(named.InWorkspace())
	}
	on, err := Reach[S](ctx, cs, folder)
	if err != nil {
		return result, err
	}
	return op(on, ctx, p)
}
