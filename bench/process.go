package main

// What the system reports about a process: memory, wake-ups, parent. These measurements need /proc
// and fail with an error on systems without it.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// conditions returns the load of the machine if the system reports it. On a busy machine, the
// figures are not those of the program alone.
func conditions(when string) []figure {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return []figure{{
		Name: "load of the machine " + when, Seen: load, Limit: float64(runtime.NumCPU()), By: "processors",
		Note: "runnable and waiting for a disk, over one minute",
	}}
}

// field reads a number from a file of lines "Name: number unit".
func field(file, name string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return strconv.ParseFloat(number, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// kB is the unit of memory in /proc, in megabytes.
const kB = 1024.0 / 1e6

func parentOf(pid int) (int, error) {
	parent, err := field(procFile(pid, "status"), "PPid")
	return int(parent), err
}

// memory is the memory of a process, in megabytes.
type memory struct{ resident, proportional float64 }

func memoryOf(pid int) (memory, error) {
	resident, err := field(procFile(pid, "status"), "VmRSS")
	if err != nil {
		return memory{}, err
	}
	proportional, err := field(procFile(pid, "smaps_rollup"), "Pss")
	return memory{resident * kB, proportional * kB}, err
}

// switches counts the context switches of all threads of a process so far. A process without any
// did not wake up.
func switches(pid int) (sum float64, err error) {
	tasks, err := filepath.Glob(procFile(pid, "task/*/status"))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, err := field(task, name)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

// switchesIn counts the context switches in a span of time.
func switchesIn(ctx context.Context, pid int, span time.Duration) (float64, error) {
	before, err := switches(pid)
	if err != nil {
		return 0, err
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	after, err := switches(pid)
	return after - before, err
}

// watchPeak polls the peak memory of a process. The returned function ends the polling and returns
// the peak in megabytes.
func watchPeak(pid int) (highest func() float64) {
	var peak float64
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			if seen, err := field(procFile(pid, "status"), "VmHWM"); err == nil {
				peak = max(peak, seen*kB)
			}
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	})
	return func() float64 {
		close(done)
		wg.Wait()
		return peak
	}
}

// footprint is the memory of processes, in megabytes, and their share of all processors, in
// percent.
type footprint struct {
	memory, share float64
	parts, uses   string // memory and share by kind of process
}

// costOf waits until servers, supervisors and guards have settled and then measures them for some
// seconds.
func costOf(ctx context.Context, kinds [][]int) (sum footprint, err error) {
	const span = 10 * time.Second
	if err := pause(ctx, 2*span); err != nil {
		return sum, err
	}
	began := time.Now()
	before, err := timesOf(kinds)
	if err == nil {
		err = pause(ctx, span)
	}
	if err != nil {
		return sum, err
	}
	after, err := timesOf(kinds)
	if err != nil {
		return sum, err
	}
	whole := float64(time.Since(began)) * float64(runtime.NumCPU()) / 100
	var uses, parts []string
	for i, name := range []string{"server", "supervisors", "guards"} {
		held := 0.0
		for _, pid := range kinds[i] {
			m, err := memoryOf(pid)
			if err != nil {
				return sum, err
			}
			held += m.proportional
		}
		used := (after[i] - before[i]) / whole
		sum.memory, sum.share = sum.memory+held, sum.share+used
		parts, uses = append(parts, fmt.Sprintf("%s %.0f MB", name, held)), append(uses, fmt.Sprintf("%s %.2f", name, used))
	}
	sum.parts, sum.uses = strings.Join(parts, ", "), strings.Join(uses, ", ")
	return sum, nil
}

// timesOf returns the CPU time of processes so far by kind, in nanoseconds.
func timesOf(kinds [][]int) (used []float64, err error) {
	for _, pids := range kinds {
		sum := 0.0
		for _, pid := range pids {
			n, err := nanoseconds(pid)
			if err != nil {
				return nil, err
			}
			sum += n
		}
		used = append(used, sum)
	}
	return used, nil
}

// nanoseconds returns the CPU time of all threads of a process so far.
func nanoseconds(pid int) (sum float64, err error) {
	tasks, err := filepath.Glob(procFile(pid, "task/*/schedstat"))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no times: %w", pid, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
