//go:build !linux && !darwin

package durable

import (
	"os"
	"time"
)

// tickOf returns Coarse: the timestamp granularity of file systems is not known here.
func tickOf(*os.File) time.Duration { return Coarse }
