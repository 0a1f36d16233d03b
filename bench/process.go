package main

// What the system tells of a process: memory, wake-ups, parentage. Linux tells
// it in /proc; elsewhere these measurements fail and say so.

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

// conditions tells what else the machine was doing, where the system tells it:
// figures of a machine at work are not those of the program alone.
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

// kB is what /proc counts memory in, as megabytes.
const kB = 1024.0 / 1e6

func parentOf(pid int) (int, error) {
	parent, err := field(procFile(pid, "status"), "PPid")
	return int(parent), err
}

// memory is what a process holds, in megabytes.
type memory struct{ resident, proportional float64 }

func memoryOf(pid int) (memory, error) {
	resident, err := field(procFile(pid, "status"), "VmRSS")
	if err != nil {
		return memory{}, err
	}
	proportional, err := field(procFile(pid, "smaps_rollup"), "Pss")
	return memory{resident * kB, proportional * kB}, err
}

// switches counts the context switches of all threads of a process so far: a
// process that is never switched to never woke up.
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

// watchPeak follows the highest memory of a process, in megabytes, until the
// function it returns is called.
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
