// Package lazyregexp compiles regular expressions when they are first used. The many
// short-lived processes of ac do not pay at startup for patterns that they never need.
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
