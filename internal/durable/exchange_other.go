//go:build !linux && !darwin

package durable

func exchange(place, place) error { return ErrNoExchange }
