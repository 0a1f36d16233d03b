package main

// How a command reaches an operation and prints its result.

import (
	"context"
	"errors"

	"ac/company"
	"ac/workspace"
)

// across lends the companies of this process, and releases them.
func (a *app) across(fn func(*company.Host) error) error {
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: a.executable, Version: buildVersion()})
	return errors.Join(fn(all), all.Close())
}

// ask carries out one operation.
func ask[S company.Target, P, R any](ctx context.Context, a *app, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	err = a.across(func(all *company.Host) (err error) {
		result, err = company.Do(ctx, all, op, p)
		return err
	})
	return result, err
}

// printJSON asks, and prints the result indented by two.
func printJSON[S company.Target, P, R any](ctx context.Context, a *app, op func(S, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printJSON(result)
}

// printLine asks, and prints the result on one line.
func printLine[S company.Target, P, R any](ctx context.Context, a *app, op func(S, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printLine(result)
}
