//go:build !unix

package main

// There is no soak where sessions are not supported.

const (
	soakProbe   = "AC_TEST_PROBE"
	soakSpeaker = "soak-speaker"
)

func describeAt(string) {}
