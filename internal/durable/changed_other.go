//go:build !linux && !darwin

package durable

import "io/fs"

// changeTime falls back to the modification time where the change time is not
// portable.
func changeTime(st fs.FileInfo) int64 { return st.ModTime().UnixNano() }
