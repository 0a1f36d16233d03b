package cli

// Interruption by signals, and the exit status that follows.

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"ac/company"
)

// UntilSignal runs work with a context that SIGINT and SIGTERM cancel. Besides the error of work it
// returns the exit status for the signal that arrived, nil if none did.
func UntilSignal(ctx context.Context, work func(context.Context) error) (signaled, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	go func() { // ends with the work
		defer close(done)
		select {
		case caught := <-signals:
			if number, ok := caught.(syscall.Signal); ok {
				signaled = ExitError{ExitSignal + int(number)}
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	err = work(ctx)
	cancel()
	<-done
	return signaled, err
}

// Interruptible runs work until it is done or a signal arrives. If work fails after a signal, it
// returns the exit status for the signal.
func Interruptible(ctx context.Context, work func(context.Context) error) error {
	signaled, err := UntilSignal(ctx, work)
	if signaled != nil && err != nil {
		return signaled
	}
	return err
}

// Interruptible runs an operation until it is done or a signal arrives. On a signal it stops the
// sessions that the operation started, records their ends, and returns the exit status for the
// signal.
func (a *App) Interruptible(ctx context.Context, fn func(context.Context, *company.Host) error) error {
	SurviveReaders()
	signaled, err := UntilSignal(ctx, func(ctx context.Context) error {
		return a.Across(func(all *company.Host) error {
			err := fn(ctx, all)
			if ctx.Err() != nil {
				return all.StopLaunched(context.WithoutCancel(ctx))
			}
			return err
		})
	})
	return errors.Join(signaled, err)
}
