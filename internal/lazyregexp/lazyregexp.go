// Package lazyregexp compiles regular expressions when they are first used, so that the many
// short-lived processes of ac do not pay at their start for patterns they never need.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled pattern. Its first call compiles, and
// panics if the pattern is invalid. It is safe for concurrent use.
func New(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
