//go:build !linux

package watch

import "errors"

// watchCreated is not supported on this system. The caller uses a Tree, which watches for all changes.
func watchCreated(string) (changed <-chan struct{}, end func(), err error) {
	return nil, nil, errors.ErrUnsupported
}
