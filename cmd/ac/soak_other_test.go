//go:build !unix

package main

// The soak test needs sessions, which only Unix supports.

const (
	soakProbe   = "AC_TEST_PROBE"
	soakSpeaker = "soak-speaker"
)

func describeAt(string) {}
