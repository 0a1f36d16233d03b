//go:build !linux && !darwin

package durable

import (
	"os"
	"time"
)

// tickOf is how far apart two writes of a file must be for its times to tell them
// apart; nothing is known of file systems here.
func tickOf(*os.File) time.Duration { return Coarse }
