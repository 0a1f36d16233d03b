// Package filecache caches what was computed from files and directories, each
// value for one version of its file: a value is valid only while a stat of the
// file shows the same device, inode, size and times.
package filecache
