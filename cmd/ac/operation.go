package main

// How a command calls an operation and prints its result.

import (
	"context"
	"errors"

	"ac/company"
	"ac/snapshot/room"
	"ac/workspace"
)

// across runs fn with a Host, which it closes afterwards.
func (a *app) across(fn func(*company.Host) error) error {
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: a.executable, Version: a.version, Serves: room.Serves{Launch: true}})
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

// printJSON carries out an operation and prints its result as indented JSON.
func printJSON[S company.Target, P, R any](ctx context.Context, a *app, op func(S, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printJSON(result)
}

// printLine carries out an operation and prints its result on one line.
func printLine[S company.Target, P, R any](ctx context.Context, a *app, op func(S, context.Context, P) (R, error), p P) error {
	result, err := ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.printLine(result)
}
