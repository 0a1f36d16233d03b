//go:build unix && !linux

package proc

const hangupEvents = 0
