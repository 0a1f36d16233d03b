//go:build !linux

package httpguard

import "net/netip"

// canTellUsers: this system cannot tell the owner of a connection.
const canTellUsers = false

func userOf(_, _ netip.AddrPort) (uid int, found bool) { return 0, false }
