package session

import (
	"strings"
	"testing"
)

// TestPlaceOfSockets checks that socket paths are short enough whatever the directories are.
func TestPlaceOfSockets(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("x", 80)
	for want, of := range map[string][2]string{
		"/run/user/7/ac":       {"/run/user/7", "/tmp"},
		"/var/tmp/ac-7":        {"", "/var/tmp"},
		"/other/ac-7":          {"no/path", "/other"},
		"/tmp/ac-7":            {long, long},
		"/short/ac-7":          {long, "/short"},
		long[:75] + "/ac-7":    {"", long[:75]},
		"/run/user/1000007/ac": {"/run/user/1000007", long},
	} {
		got := socketDirFor(of[0], of[1], 7)
		if got != want || len(got)+len("/0123456789abcdef.sock") > 103 {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
