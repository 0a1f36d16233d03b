package main

// Results: the files that a session leaves on a worker, at the maximum size.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// resultsBytes is just below 2 GiB, the limit for a session's results together with its output.
const resultsBytes = 2<<30 - 1<<20

// fewBytes is an eighth of resultsBytes. flat is the allowed ratio of the peak memory with
// resultsBytes to that with fewBytes.
const (
	fewBytes = resultsBytes / 8
	flat     = 1.25
)

// measureResults has a session leave 2 GiB on a worker and waits until they have arrived here.
func measureResults(ctx context.Context, b *bench) (found []figure, err error) {
	f, err := b.startFleet(ctx, "results", 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if _, _, err := f.bring(ctx, fewBytes); err != nil {
		return nil, err
	}
	before, err := f.peaks()
	if err != nil {
		return nil, err
	}
	took, brought, err := f.bring(ctx, resultsBytes)
	if err != nil {
		return nil, err
	}
	peaks, err := f.peaks()
	if err != nil {
		return nil, err
	}
	bare, err := f.b.copyOver(ctx, brought)
	if err != nil {
		return nil, err
	}
	found = []figure{{
		Name: "2 GiB of results, of a worker", Unit: "MB/s", Seen: resultsBytes / 1e6 / took.Seconds(), Target: resultsBytes / 1e6 / bare.Seconds() / 4, AtLeast: true,
		Limit: resultsBytes / 1e6 / bare.Seconds(), By: "the file copied over loopback, with fsync",
		Note: fmt.Sprintf("%s from the file that was synced there to the end here: packed and masked, digested, sent, stored, digested, judged, unpacked, synced", took.Round(100*time.Millisecond)),
	}}
	for i, who := range []string{"hub's", "worker's"} {
		found = append(found, figure{
			Name: who + " peak until 2 GiB of results came", Unit: "MB", Seen: peaks[i], Target: before[i] * flat, Limit: before[i], By: "until 256 MiB had come", Note: "VmHWM",
		})
	}
	return found, nil
}

// peaks returns the peak memory of hub and worker so far, in megabytes.
func (f *fleet) peaks() (all []float64, err error) {
	for _, c := range []*child{f.hub, f.workers[0]} {
		peak, err := field(procFile(c.cmd.Process.Pid, "status"), "VmHWM")
		if err != nil {
			return nil, err
		}
		all = append(all, peak*kB)
	}
	return all, nil
}

// bring has a session write a file of the given size. It returns the time from the file's sync to
// the session's end here, and the path of the file.
func (f *fleet) bring(ctx context.Context, size int64) (took time.Duration, file string, err error) {
	run, err := f.server.newRun(f.dir, f.project)
	if err != nil {
		return 0, "", err
	}
	script := fmt.Sprintf("head -c %d /dev/urandom > big.bin; sync big.bin; date +at=%%s%%N,", size)
	placement := map[string]any{"where": "remote", "outputs": []string{"big.bin"}}
	params := map[string]any{"workspace_dir": f.dir, "project_id": f.project, "run_id": run, "argv": []string{"sh", "-c", script}, "placement": placement}
	if err := f.server.call("session.launch", params, nil); err != nil {
		return 0, "", err
	}
	ref := session.LocalRef(run)
	for { // session.collect waits at most five minutes
		var session struct{ Status string }
		if err := f.server.call("session.collect", map[string]any{"workspace_dir": f.dir, "session_ref": ref}, &session); err != nil {
			return 0, "", err
		}
		if session.Status != doc.StatusRunning {
			break
		}
		if ctx.Err() != nil {
			return 0, "", context.Cause(ctx)
		}
	}
	over := time.Now()
	log, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(workspace.LogFile(f.project, run))))
	if err != nil {
		return 0, "", err
	}
	raw := bytes.Index(log, []byte(`"type":"`+events.ProviderRaw+`"`))
	if raw < 0 || !bytes.Contains(log, []byte(`"type":"`+events.WorkerResults+`"`)) {
		return 0, "", fmt.Errorf("the results did not come: %.2000s", log)
	}
	line := log[bytes.LastIndexByte(log[:raw], '\n')+1:]
	_, rest, _ := bytes.Cut(line, []byte("at="))
	text, _, _ := bytes.Cut(rest, []byte(","))
	at, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("the session did not tell when it was done: %.300s", line)
	}
	file = filepath.Join(f.dir, filepath.FromSlash(workspace.RunDir(f.project, run)), "outputs", "big.bin")
	st, err := os.Stat(file)
	if err == nil && st.Size() != size {
		err = fmt.Errorf("%s has %d bytes", file, st.Size())
	}
	return over.Sub(time.Unix(0, at)), file, err
}

// copyOver copies a file over a connection of this machine and syncs the copy.
func (b *bench) copyOver(ctx context.Context, name string) (took time.Duration, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	sent := make(chan error, 1)
	go func() { // ends with the listener or the connection
		conn, err := listener.Accept()
		if err != nil {
			sent <- err
			return
		}
		from, err := os.Open(name)
		if err == nil {
			_, err = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{from}) // prevents sendfile and splice
			err = errors.Join(err, from.Close())
		}
		sent <- errors.Join(err, conn.Close())
	}()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return 0, err
	}
	copied := b.path("copied")
	to, err := os.Create(copied)
	if err == nil {
		_, err = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{conn})
		err = errors.Join(err, to.Sync(), to.Close())
	}
	took = time.Since(began)
	return took, errors.Join(err, conn.Close(), <-sent, os.Remove(copied))
}
