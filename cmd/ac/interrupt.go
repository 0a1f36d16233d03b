package main

// Commands that wait for runs of their own and stop them on a signal.

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"ac/company"
)

// interruptible runs an operation until it is done or a signal arrives. On a
// signal it stops and records the sessions that the operation started, and
// returns the exit status for the signal.
func (a *app) interruptible(ctx context.Context, fn func(context.Context, *company.Host) error) error {
	surviveReaders()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	var caught os.Signal
	over, waited := make(chan struct{}), make(chan struct{})
	go func() { // ends with the operation
		defer close(waited)
		select {
		case caught = <-signals:
			cancel()
		case <-over:
		}
	}()
	return a.across(func(all *company.Host) error {
		err := fn(ctx, all)
		close(over)
		<-waited
		if number, ok := caught.(syscall.Signal); ok {
			return errors.Join(exitError{exitSignal + int(number)}, all.StopLaunched(context.WithoutCancel(ctx)))
		}
		return err
	})
}
