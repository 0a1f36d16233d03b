package httpguard

// The user at the other end of a connection.

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
)

// Peer describes the other end of a connection.
type Peer struct {
	// Trusted: both ends are on loopback, and the other one belongs to the user of this process
	// or to root, as far as the system can tell.
	Trusted bool
	// Checked is false if the system cannot tell the owner of a connection.
	Checked bool
}

type peerKey struct{}

// WithPeer is the ConnContext of an http.Server. It lets PeerOf find the peer of a request's
// connection. The peer is looked up once, at the first use.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() Peer {
		local, _ := netip.ParseAddrPort(c.LocalAddr().String()) // without an address the peer is not trusted
		remote, _ := netip.ParseAddrPort(c.RemoteAddr().String())
		return peerBetween(local, remote, userOf)
	}))
}

// PeerOf returns the peer of a request's connection, not trusted if the context has none.
func PeerOf(ctx context.Context) Peer {
	if look, ok := ctx.Value(peerKey{}).(func() Peer); ok {
		return look()
	}
	return Peer{}
}

// peerBetween evaluates a connection. user returns the owner of the socket at end. found is
// false if the system does not know it.
func peerBetween(local, remote netip.AddrPort, user func(end, other netip.AddrPort) (uid int, found bool)) Peer {
	if !local.Addr().Unmap().IsLoopback() || !remote.Addr().Unmap().IsLoopback() {
		return Peer{Checked: canTellUsers}
	}
	if !canTellUsers {
		return Peer{Trusted: true}
	}
	uid, found := user(remote, local)
	return Peer{Trusted: found && (uid == 0 || uid == os.Getuid()), Checked: true}
}

// ChecksPeers reports whether this system can tell the owner of a connection.
func ChecksPeers() bool { return canTellUsers }
