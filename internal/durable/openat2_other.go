//go:build !linux

package durable

// Systems without openat2: os.Root resolves every name.

import (
	"errors"
	"io/fs"
	"os"
)

type openat2Root struct{}

var errFallback = errors.New("not supported by the kernel")

func openOpenat2(*os.Root) *openat2Root { return nil }

func (*openat2Root) close() error { return nil }

func (*openat2Root) openFile(string, int, fs.FileMode) (*os.File, error) { return nil, errFallback }

func (*openat2Root) readFile(string, int64) ([]byte, fs.FileInfo, error) {
	return nil, nil, errFallback
}

func (*openat2Root) openDir(string) (*os.File, error) { return nil, errFallback }

func (*openat2Root) names(string) ([]string, error) { return nil, errFallback }

func (*openat2Root) stat(string, bool) (fs.FileInfo, error) { return nil, errFallback }

func (*openat2Root) syncDir(string) error { return errFallback }

func (*openat2Root) mkdir(string, fs.FileMode) error { return errFallback }

func (*openat2Root) unlink(string) error { return errFallback }

func (*openat2Root) rename(string, string) error { return errFallback }

func (*openat2Root) link(string, string) error { return errFallback }
