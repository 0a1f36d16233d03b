package main

// Signals: what a command does until one arrives, and the exit status then.

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"ac/company"
)

// untilSignal runs work with a context that SIGINT and SIGTERM cancel. Beside the error
// of the work it returns the exit status of the signal that arrived, nil for none.
func untilSignal(ctx context.Context, work func(context.Context) error) (signaled, err error) {
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
				signaled = exitError{exitSignal + int(number)}
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

// interruptible runs work until it is done or a signal arrives. If work fails because
// of that, it returns the exit status for the signal.
func interruptible(ctx context.Context, work func(context.Context) error) error {
	signaled, err := untilSignal(ctx, work)
	if signaled != nil && err != nil {
		return signaled
	}
	return err
}

// interruptible runs an operation until it is done or a signal arrives. On a
// signal it stops and records the sessions that the operation started, and
// returns the exit status for the signal.
func (a *app) interruptible(ctx context.Context, fn func(context.Context, *company.Host) error) error {
	surviveReaders()
	signaled, err := untilSignal(ctx, func(ctx context.Context) error {
		return a.across(func(all *company.Host) error {
			err := fn(ctx, all)
			if ctx.Err() != nil {
				return all.StopLaunched(context.WithoutCancel(ctx))
			}
			return err
		})
	})
	return errors.Join(signaled, err)
}
