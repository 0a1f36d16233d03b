package proc

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapProgram drops the mapped pages of the program that are the same in its file: its code
// and its constants. They stay in the page cache, from which the next use maps them again. It
// is best effort.
func unmapProgram() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for _, p := range unchangedParts(maps, self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, p.start, p.size, unix.MADV_DONTNEED)
	}
}

// part is a mapped range of addresses.
type part struct{ start, size uintptr }

// unchangedParts reads a text as of /proc/self/smaps (proc(5)) and lists the parts of the
// file that are not writable and hold nothing of the process's own: a loader may have written
// into constants before it protected them.
func unchangedParts(smaps io.Reader, file string) (found []part) {
	var last part // whose fields are being read
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 0 && strings.Contains(fields[0], "-"): // START-END PERMS OFFSET DEV INODE PATH
			last = part{}
			if len(fields) > 5 && strings.HasSuffix(lines.Text(), " "+file) && !strings.Contains(fields[1], "w") {
				last = rangeOf(fields[0])
			}
		case len(fields) > 1 && fields[0] == "Anonymous:" && fields[1] == "0" && last.size > 0:
			found = append(found, last)
		}
	}
	return found
}

// rangeOf reads START-END, in hexadecimal digits.
func rangeOf(text string) part {
	from, to, _ := strings.Cut(text, "-")
	start, errStart := strconv.ParseUint(from, 16, 64)
	end, errEnd := strconv.ParseUint(to, 16, 64)
	if errStart != nil || errEnd != nil || end <= start {
		return part{}
	}
	return part{start: uintptr(start), size: uintptr(end - start)}
}
