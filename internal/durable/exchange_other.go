//go:build !linux && !darwin

package durable

func exchange(exchangeSide, exchangeSide) error { return ErrNoExchange }
