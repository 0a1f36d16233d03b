package httpguard

import (
	"net/netip"
	"strings"
	"testing"
)

// TestUserIn checks how rows of the connection tables are parsed, including those of other users.
func TestUserIn(t *testing.T) {
	t.Parallel()
	table := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:A001 0100007F:2694 01 00000000:00000000 00:00000000 00000000  1234        0 1 1\n" +
		"   1: 0000000000000000FFFF00000100007F:A002 0000000000000000FFFF00000100007F:2694 01 00000000:00000000 00:00000000 00000000  77        0 1 1\n" +
		"   2: short\n" +
		"   3: 00000000000000000000000001000000:A003 00000000000000000000000001000000:2694 01 00000000:00000000 00:00000000 00000000  88        0 1 1\n"
	for ends, want := range map[[2]string]int{
		{"127.0.0.1:40961", "127.0.0.1:9876"}: 1234, {"127.0.0.1:40962", "127.0.0.1:9876"}: 77, {"[::1]:40963", "[::1]:9876"}: 88,
		{"127.0.0.1:40963", "127.0.0.1:9876"}: -1, {"127.0.0.1:9876", "127.0.0.1:40961"}: -1,
	} {
		uid, found := userIn(strings.NewReader(table), netip.MustParseAddrPort(ends[0]), netip.MustParseAddrPort(ends[1]))
		if found != (want >= 0) || (found && uid != want) {
			t.Errorf("%v: %d (%t), want %d", ends, uid, found, want)
		}
	}
}
