package httpguard

// The user at the other end of a connection.

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
)

// Peer is what is known of the other end of a connection.
type Peer struct {
	// Trusted: both ends are on loopback, and the other one belongs to the user of this
	// process or to root, as far as the system tells.
	Trusted bool
	// Checked is false where the system tells no users.
	Checked bool
}

type peerKey struct{}

// WithPeer is the ConnContext of an http.Server: requests know the peer of their
// connection. It is looked up once, when the first of them asks.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() Peer {
		local, _ := netip.ParseAddrPort(c.LocalAddr().String()) // no address: not trusted
		remote, _ := netip.ParseAddrPort(c.RemoteAddr().String())
		return peerBetween(local, remote, userOf)
	}))
}

// PeerOf is the peer of the connection of a request, not trusted where nobody knows it.
func PeerOf(ctx context.Context) Peer {
	if look, ok := ctx.Value(peerKey{}).(func() Peer); ok {
		return look()
	}
	return Peer{}
}

// peerBetween judges a connection. user is who has the end that is named first, found is
// false where the system does not know it.
func peerBetween(local, remote netip.AddrPort, user func(end, other netip.AddrPort) (uid int, found bool)) Peer {
	if !local.Addr().Unmap().IsLoopback() || !remote.Addr().Unmap().IsLoopback() {
		return Peer{Checked: tellsUsers}
	}
	if !tellsUsers {
		return Peer{Trusted: true}
	}
	uid, found := user(remote, local)
	return Peer{Trusted: found && (uid == 0 || uid == os.Getuid()), Checked: true}
}

// ChecksPeers reports whether this system tells whose a connection is.
func ChecksPeers() bool { return tellsUsers }
