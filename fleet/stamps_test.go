package fleet

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestNoRequestCountsTwice checks that no stamp is accepted twice, in whatever order requests
// arrive.
func TestNoRequestCountsTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Stamps
		heard := map[Stamp]bool{}
		boot := 1
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				stamp := Stamp{Boot: fmt.Sprint(rapid.IntRange(1, boot).Draw(t, "boot")), Seq: rapid.Int64Range(0, 3*stampWindow).Draw(t, "seq")}
				if s.Accept(stamp) {
					if heard[stamp] || stamp.Boot != fmt.Sprint(boot) && s.earlier[stamp.Boot] || stamp.Seq == 0 {
						t.Fatalf("%+v counts", stamp)
					}
					heard[stamp] = true
				}
			},
			"restart": func(*rapid.T) { boot++ },
		})
	})
}
