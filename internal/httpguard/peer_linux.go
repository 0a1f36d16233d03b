package httpguard

// The tables of connections that Linux keeps.

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

// tellsUsers: the system tells whose a connection is.
const tellsUsers = true

// userOf is the user whose socket has these ends.
func userOf(local, remote netip.AddrPort) (uid int, found bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(name)
		if err != nil {
			continue // without a table nobody is trusted
		}
		uid, found = userIn(table, local, remote)
		_ = table.Close() // it was only read
		if found {
			return uid, true
		}
	}
	return 0, false
}

// userIn looks for a connection in a table: a header, then rows of fields, of which the
// second and third are the ends, the fourth the state and the eighth the user.
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

// endOf reads an end as the kernel prints it: words of four bytes in the order of this
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
