//go:build !linux && !darwin

package durable

import (
	"os"
	"time"
)

// granularityOf returns Coarse: the timestamp granularity of file systems is not known here.
func granularityOf(*os.File) time.Duration { return Coarse }
