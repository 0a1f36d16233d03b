package signame

import "syscall"

// Of is the name of a signal.
func Of(sig syscall.Signal) string { return sig.String() }
