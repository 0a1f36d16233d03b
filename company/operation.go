package company

// How the protocol, the commands and the page call an operation: checked params, a typed target
// and a typed result.

import (
	"context"

	"ac/internal/param"
)

// Target is what an operation works on: the whole host, a folder, an open workspace, or the
// Folder or Operations of a part.
type Target interface {
	*Host | *Folder | *Company | ~struct{ InFolder } | ~struct{ In }
}

// inWorkspace are params that name a workspace.
type inWorkspace interface{ InWorkspace() string }

// Reach returns the target of an operation. folder is the one that the params
// name, nil if they name none.
func Reach[S Target](ctx context.Context, cs *Host, folder *Folder) (on S, err error) {
	switch target := any(&on).(type) {
	case **Host:
		*target = cs
	case **Folder:
		*target = folder
	case **Company:
		*target, err = folder.Enter(ctx)
	case interface{ enter(f *Folder) }:
		target.enter(folder)
	case interface{ enter(c *Company) }:
		var c *Company
		if c, err = folder.Enter(ctx); err == nil {
			target.enter(c)
		}
	}
	return on, err
}

// checked validates params, a pointer, and returns the folder they name, nil if they name none.
func (cs *Host) checked(params any) (folder *Folder, err error) {
	if err := param.Check(params); err != nil {
		return nil, err
	}
	if named, ok := params.(inWorkspace); ok {
		folder = cs.In(named.InWorkspace())
	}
	return folder, nil
}

// Do runs an operation with params from a program, validated by the same rules as those of a
// request. The error is that of the operation, fault.InvalidParams, or fault.NotAWorkspace.
func Do[S Target, P, R any](ctx context.Context, cs *Host, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	folder, err := cs.checked(&p)
	if err != nil {
		return result, err
	}
	on, err := Reach[S](ctx, cs, folder)
	if err == nil {
		result, err = op(on, ctx, p)
	}
	return result, folder.WithCallerPaths(err)
}
