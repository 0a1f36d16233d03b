//go:build unix && !linux

package proc

import "syscall"

func attended() *syscall.SysProcAttr { return NewGroup() }
