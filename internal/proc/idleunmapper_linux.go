package proc

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram drops the mapped pages of the program that equal its file: its code and its
// constants. They stay in the page cache, and the next use maps them again. It is best effort.
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
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, p.start, p.size, syscall.MADV_DONTNEED)
	}
}

// part is a mapped range of addresses.
type part struct{ start, size uintptr }

// unchangedParts parses text in the format of /proc/self/smaps (proc(5)). It lists the parts of
// the file that are not writable and have no pages of the process's own: a loader may have
// written to constants before it protected them. It makes no garbage of the several thousand
// lines, because an idle process would keep it.
func unchangedParts(smaps io.Reader, file string) (found []part) {
	var last part // the part whose fields are being read
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Bytes()
		first, rest, _ := bytes.Cut(line, []byte(" "))
		switch {
		case bytes.IndexByte(first, '-') >= 0: // START-END PERMS OFFSET DEV INODE PATH
			last = part{}
			perms, _, _ := bytes.Cut(rest, []byte(" "))
			if end := len(line) - len(file); end > 0 && line[end-1] == ' ' && string(line[end:]) == file && bytes.IndexByte(perms, 'w') < 0 {
				last = rangeOf(string(first))
			}
		case last.size > 0 && string(first) == "Anonymous:" && bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("0 ")):
			found = append(found, last)
		}
	}
	return found
}

// rangeOf parses START-END, in hexadecimal digits.
func rangeOf(text string) part {
	from, to, _ := strings.Cut(text, "-")
	start, errStart := strconv.ParseUint(from, 16, 64)
	end, errEnd := strconv.ParseUint(to, 16, 64)
	if errStart != nil || errEnd != nil || end <= start {
		return part{}
	}
	return part{start: uintptr(start), size: uintptr(end - start)}
}
