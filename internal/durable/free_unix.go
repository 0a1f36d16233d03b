//go:build linux || darwin

package durable

import "golang.org/x/sys/unix"

// Free returns the number of bytes that this user can still write to a directory's file system.
func Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil //nolint:gosec // a size
}
