//go:build !linux && !darwin

package durable

import (
	"os"
	"time"
)

// tickOf is the timestamp granularity of a file system; nothing is known about
// file systems here.
func tickOf(*os.File) time.Duration { return Coarse }
