//go:build unix && !linux

package pipe

const hangupEvents = 0
