package signame

import "syscall"

// Of returns the name of a signal.
func Of(sig syscall.Signal) string { return sig.String() }
