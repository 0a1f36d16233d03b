package cli

// Calling an operation and printing its result.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ac/company"
	"ac/rpc"
	"ac/snapshot/room"
	"ac/workspace"
)

// Across runs fn with a Host and closes the Host afterwards.
func (a *App) Across(fn func(*company.Host) error) error {
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: a.Executable, Version: a.Version, Serves: room.Serves{Launch: true}})
	return errors.Join(fn(all), all.Close())
}

// Ask runs one operation.
func Ask[S company.Target, P, R any](ctx context.Context, a *App, op func(S, context.Context, P) (R, error), p P) (result R, err error) {
	err = a.Across(func(all *company.Host) (err error) {
		result, err = company.Do(ctx, all, op, p)
		return err
	})
	return result, err
}

// PrintJSON runs an operation and prints its result as indented JSON.
func PrintJSON[S company.Target, P, R any](ctx context.Context, a *App, op func(S, context.Context, P) (R, error), p P) error {
	result, err := Ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.PrintJSON(result)
}

// PrintLine runs an operation and prints its result as JSON on one line.
func PrintLine[S company.Target, P, R any](ctx context.Context, a *App, op func(S, context.Context, P) (R, error), p P) error {
	result, err := Ask(ctx, a, op, p)
	if err != nil {
		return err
	}
	return a.PrintLine(result)
}

// PrintJSON prints a value as indented JSON.
func (a *App) PrintJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintLine prints a value as JSON on one line.
func (a *App) PrintLine(v any) error {
	text, err := rpc.Encode(v)
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
	}
	return err
}

// PrintID prints the id of what a command created.
func (a *App) PrintID(id string, err error) error {
	if err == nil {
		fmt.Fprintln(a.Stdout, id)
	}
	return err
}
