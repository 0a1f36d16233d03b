//go:build !linux

package watch

import "errors"

// made is not known here: a Tree watches for all that happens.
func made(string) (changed <-chan struct{}, end func(), err error) {
	return nil, nil, errors.ErrUnsupported
}
