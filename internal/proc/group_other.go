//go:build unix && !linux

package proc

import "syscall"

func childAttr() *syscall.SysProcAttr { return NewGroup() }
