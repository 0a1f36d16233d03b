package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// Lookup returns the identity of the process that has a PID now. Start is the boot ID and the
// start ticks of proc(5), field 22 of stat.
func Lookup(pid int) (Identity, bool) {
	if pid <= 0 {
		return Identity{}, false
	}
	ticks, _, state, ok := readStat(pid)
	if !ok || dead(state) {
		return Identity{}, false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: strings.TrimSpace(string(boot)) + ":" + ticks}, true
}

// dead reports whether a state is that of a process that has ended, such as a zombie.
func dead(state string) bool { return state == "Z" || state == "X" }

// readStat reads the start ticks, the parent and the state of a process.
func readStat(pid int) (ticks string, parent int, state string, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, "", false
	}
	// The name in parentheses may contain anything, parentheses included.
	_, rest, found := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	fields := strings.Fields(string(rest))
	if !found || len(fields) < 20 {
		return "", 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[19], parent, fields[0], err == nil
}

// StartedAt returns when a process started, to about a hundredth of a second.
func StartedAt(pid int) (time.Time, bool) {
	ticks, _, state, ok := readStat(pid)
	if !ok || dead(state) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(ticks, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(stat)) {
		if boot, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(boot), 10, 64)
			// USER_HZ is 100 on every Linux that Go runs on.
			return time.Unix(seconds, 0).Add(time.Duration(n) * 10 * time.Millisecond), err == nil
		}
	}
	return time.Time{}, false
}

// childrenOf lists the processes whose parent is pid, with or without zombies.
func childrenOf(pid int, zombies bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, parent, state, ok := readStat(child); ok && parent == pid && (zombies || !dead(state)) {
			children = append(children, child)
		}
	}
	return children, nil
}
