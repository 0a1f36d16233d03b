//go:build !linux

package durable

// Systems without a walk below a root of their own: os.Root walks.

import (
	"errors"
	"io/fs"
	"os"
)

type beneath struct{}

var errWalk = errors.New("not answered by the kernel")

func openBeneath(*os.Root) *beneath { return nil }

func (*beneath) close() error { return nil }

func (*beneath) openFile(string, int, fs.FileMode) (*os.File, error) { return nil, errWalk }

func (*beneath) readFile(string, int64) ([]byte, fs.FileInfo, error) { return nil, nil, errWalk }

func (*beneath) openDir(string) (*os.File, error) { return nil, errWalk }

func (*beneath) names(string) ([]string, error) { return nil, errWalk }

func (*beneath) stat(string, bool) (fs.FileInfo, error) { return nil, errWalk }

func (*beneath) syncDir(string) error { return errWalk }

func (*beneath) mkdir(string, fs.FileMode) error { return errWalk }

func (*beneath) unlink(string) error { return errWalk }

func (*beneath) rename(string, string) error { return errWalk }

func (*beneath) link(string, string) error { return errWalk }
