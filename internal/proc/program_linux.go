package proc

import (
	"os"
	"strconv"
)

// program opens the file that a process executes.
func program(pid int) (*os.File, error) {
	return os.Open("/proc/" + strconv.Itoa(pid) + "/exe")
}
