package main

// The one way from a command to an operation: params as they are on the wire, bound
// and checked by the same rules, and the result in its type.

import (
	"context"
	"errors"

	"ac/company"
	"ac/internal/param"
	"ac/workspace"
)

// inWorkspace are params that name a workspace.
type inWorkspace interface{ InWorkspace() string }

// do carries out an operation on the workspace that its params name.
func do[P inWorkspace, R any](ctx context.Context, all *company.Companies, op func(*company.Company, context.Context, P) (R, error), p P) (R, error) {
	return doAcross(ctx, all, func(all *company.Companies, ctx context.Context, p P) (R, error) {
		return op(all.In(p.InWorkspace()), ctx, p)
	}, p)
}

// doAcross carries out an operation that may concern several workspaces.
func doAcross[P, R any](ctx context.Context, all *company.Companies, op func(*company.Companies, context.Context, P) (R, error), p P) (result R, err error) {
	if p, err = param.Checked(p); err != nil {
		return result, err
	}
	return op(all, ctx, p)
}

// across lends the companies of this process, and releases them.
func (a *app) across(fn func(*company.Companies) error) error {
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: a.executable, Version: buildVersion()})
	return errors.Join(fn(all), all.Close())
}

// ask is do for a command that needs nothing else.
func ask[P inWorkspace, R any](ctx context.Context, a *app, op func(*company.Company, context.Context, P) (R, error), p P) (result R, err error) {
	err = a.across(func(all *company.Companies) (err error) {
		result, err = do(ctx, all, op, p)
		return err
	})
	return result, err
}

// printJSON asks, and prints the result indented by two.
func printJSON[P inWorkspace, R any](ctx context.Context, a *app, op func(*company.Company, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printJSON(result)
}

// printLine asks, and prints the result on one line.
func printLine[P inWorkspace, R any](ctx context.Context, a *app, op func(*company.Company, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printLine(result)
}
