package web

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ac/workspace"
)

// counting counts the bytes of a stream as they come over the wire.
type counting struct {
	io.Reader

	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// BenchmarkTabs prints what ten tabs cost on 500 runs, six of which write every 1.25 s. It prints
// bytes per tab and minute, CPU time of this process including its clients, and heap growth.
func BenchmarkTabs(b *testing.B) {
	const runs, live, tabs = 500, 6, 10
	window := 15 * time.Second
	dir := newWorkspace(b)
	for n := range runs {
		appendEvents(b, dir, project, fmt.Sprintf("run_%03d", n), 1, 3)
		if n >= live {
			file := filepath.Join(dir, filepath.FromSlash(workspace.RunFile(project, fmt.Sprintf("run_%03d", n))))
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			write(b, dir, workspace.RunFile(project, fmt.Sprintf("run_%03d", n)), strings.Replace(string(text), "status: running", "status: ended\nended_at: 2026-01-02T00:01:00.000Z", 1))
		}
	}
	f := serve(b, dir)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var bytes, frames atomic.Int64
	var settled, readers sync.WaitGroup
	for range tabs {
		settled.Add(1)
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, f.url+"/api/rows", http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		answer, err := f.http.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		readers.Go(func() {
			plain, err := gzip.NewReader(counting{answer.Body, &bytes})
			if err != nil {
				return
			}
			lines, begun := bufio.NewScanner(plain), false
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if !strings.HasPrefix(lines.Text(), "data: ") {
					continue
				}
				frames.Add(1)
				if !begun && strings.Contains(lines.Text(), `"more":false`) {
					begun = true
					settled.Done()
				}
			}
		})
	}
	settled.Wait()
	b.Logf("%d runs settled in %d bytes a tab", runs, bytes.Load()/tabs)
	for b.Loop() {
		bytes.Store(0)
		frames.Store(0)
		cpu := processorTime(b)
		end := time.Now().Add(window)
		for n := 4; time.Now().Before(end); n++ {
			for r := range live {
				appendEvents(b, dir, project, fmt.Sprintf("run_%03d", r), n, n)
				time.Sleep(1250 * time.Millisecond / live)
			}
		}
		used := processorTime(b)
		runtime.GC()
		runtime.ReadMemStats(&after)
		minute := float64(time.Minute) / float64(window)
		b.Logf("a tab and minute: %.0f frames, %.1f KB gzip; %d tabs: %.1f %% of a core with the clients, %.1f MB more heap",
			float64(frames.Load())/tabs*minute, float64(bytes.Load())/tabs*minute/1000, tabs, 100*float64(used-cpu)/float64(window), float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6)
	}
}

// processorTime returns the CPU time of this process so far, user plus system.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
