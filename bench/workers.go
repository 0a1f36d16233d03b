package main

// Idle workers: what two hundred of them cost their hub.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	idleWorkers = 200
	joinAtOnce  = 2 // workers
	idleFor     = 60 * time.Second
)

// meter is a TCP proxy that counts bytes.
type meter struct {
	listener net.Listener
	to       atomic.Value // string, an address
	bytes    atomic.Int64
	wg       sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
}

func newMeter(ctx context.Context) (*meter, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &meter{listener: listener}
	m.wg.Go(func() { m.serve(ctx) })
	return m, nil
}

func (m *meter) serve(ctx context.Context) {
	for {
		in, err := m.listener.Accept()
		if err != nil {
			return
		}
		to, _ := m.to.Load().(string)
		out, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
		if err != nil {
			_ = in.Close() // the worker retries
			continue
		}
		m.mu.Lock()
		m.open = append(m.open, in, out)
		m.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			m.wg.Go(func() {
				_, _ = io.Copy(counted{way[0], &m.bytes}, way[1]) // ends when either side closes
				_, _ = way[0].Close(), way[1].Close()
			})
		}
	}
}

// counted is a writer that counts its bytes.
type counted struct {
	io.Writer
	bytes *atomic.Int64
}

func (c counted) Write(text []byte) (int, error) {
	n, err := c.Writer.Write(text)
	c.bytes.Add(int64(n))
	return n, err
}

func (m *meter) close() error {
	err := m.listener.Close()
	m.mu.Lock()
	for _, conn := range m.open {
		_ = conn.Close() // may be closed already
	}
	m.mu.Unlock()
	m.wg.Wait()
	return err
}

// measureIdleWorkers starts workers, each a process, and measures their hub.
func measureIdleWorkers(ctx context.Context, b *bench) (found []figure, err error) {
	m, err := newMeter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	f, err := b.startFleet(ctx, "workers", 0, "--advertise", m.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	m.to.Store(f.listens)
	pid := f.hub.cmd.Process.Pid
	alone, err := memoryOf(pid)
	if err != nil {
		return nil, err
	}
	if err := f.hireMany(ctx, idleWorkers); err != nil {
		return nil, err
	}
	if err := pause(ctx, 20*time.Second); err != nil { // until they are idle
		return nil, err
	}
	began, passed := time.Now(), m.bytes.Load()
	before, err := nanoseconds(pid)
	if err == nil {
		err = pause(ctx, idleFor)
	}
	if err != nil {
		return nil, err
	}
	after, err := nanoseconds(pid)
	took, bytes := time.Since(began), m.bytes.Load()-passed
	if err != nil {
		return nil, err
	}
	held, err := memoryOf(pid)
	if err != nil {
		return nil, err
	}
	var list []struct {
		Online bool `json:"online"`
	}
	if err := f.server.call("worker.list", map[string]any{"workspace_dir": f.dir}, &list); err != nil {
		return nil, err
	}
	online := 0
	for _, w := range list {
		if w.Online {
			online++
		}
	}
	own := 0.0
	for _, w := range f.workers {
		one, err := memoryOf(w.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		own += one.proportional
	}
	name := fmt.Sprintf("%d idle workers, ", idleWorkers)
	return []figure{
		{Name: name + "CPU of their hub", Unit: "%", Seen: (after - before) / float64(took) * 100, Target: 1, Note: fmt.Sprintf("of one processor, over %s at the beat of 5 s; %d of them online at its end", took.Round(time.Second), online)},
		{Name: name + "memory of their hub", Unit: "MB", Seen: held.resident, Limit: alone.resident, By: "without them", Note: "VmRSS"},
		{Name: name + "network of their hub", Unit: "KB/s", Seen: float64(bytes) / 1e3 / took.Seconds(), Note: fmt.Sprintf("both ways, with TLS; %.0f B a beat", float64(bytes)/took.Seconds()*5/idleWorkers)},
		{Name: name + "memory of each", Unit: "MB", Seen: own / float64(len(f.workers)), Note: "PSS: the program is shared by all"},
	}, nil
}

// hireMany invites, joins and starts n workers, joinAtOnce at a time.
func (f *fleet) hireMany(ctx context.Context, n int) error {
	tokens := make([]string, n)
	for i := range tokens {
		var err error
		if tokens[i], err = f.invite(workerName(i)); err != nil {
			return err
		}
	}
	var joining sync.WaitGroup
	var mu sync.Mutex
	var all error
	next := make(chan int)
	for range joinAtOnce {
		joining.Go(func() {
			for i := range next {
				w, err := f.join(ctx, "worker-"+workerName(i), tokens[i])
				mu.Lock()
				if w != nil {
					f.workers = append(f.workers, w)
				}
				all = errors.Join(all, err)
				mu.Unlock()
			}
		})
	}
	for i := range tokens {
		next <- i
	}
	close(next)
	joining.Wait()
	return all
}
