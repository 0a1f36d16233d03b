// Package filecache remembers what was made of files and directories, each for the
// version of its file: nothing is believed once one look at the file shows another
// device, inode, size or time.
package filecache
