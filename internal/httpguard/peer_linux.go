package httpguard

// Linux's tables of TCP connections.

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// canTellUsers: this system can tell the owner of a connection.
const canTellUsers = true

// userOf returns the user who owns the socket with these ends.
func userOf(local, remote netip.AddrPort) (uid int, found bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(name)
		if err != nil {
			continue // without a table nobody is trusted
		}
		uid, found = userIn(table, local, remote)
		_ = table.Close() // opened for reading only
		if found {
			return uid, true
		}
	}
	return 0, false
}

// userIn finds a connection in a table and returns its user. The table has a header, then rows
// of fields: the second and third are the ends, the fourth the state, the eighth the user.
func userIn(table io.Reader, local, remote netip.AddrPort) (uid int, found bool) {
	rows := bufio.NewScanner(table)
	for rows.Scan() {
		fields := strings.Fields(rows.Text())
		if len(fields) < 8 {
			continue
		}
		from, ok := endOf(fields[1])
		if !ok || from.Port() != local.Port() || from.Addr() != local.Addr().Unmap() {
			continue
		}
		to, ok := endOf(fields[2])
		if !ok || to.Port() != remote.Port() || to.Addr() != remote.Addr().Unmap() {
			continue
		}
		if uid, err := strconv.Atoi(fields[7]); err == nil {
			return uid, true
		}
	}
	return 0, false
}

// endOf parses an end as the kernel prints it: four-byte words in the byte order of this
// machine, then the port.
func endOf(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	at, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(at.Unmap(), uint16(n)), ok
}
