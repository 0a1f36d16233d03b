package main

// Processes with a line-based protocol: the server, and the bare echo that it is compared with.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// child is a process with pipes for input and output. Both are blocking, so that the figures do not
// include wake-ups of the runtime's poller.
type child struct {
	cmd  *exec.Cmd
	in   *os.File
	file *os.File
	out  *bufio.Reader
	id   int
}

// spawn starts a program. It is killed when the context ends.
func spawn(ctx context.Context, program string, args ...string) (*child, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	_, _ = in.Fd(), out.Fd() // makes them blocking
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	err = cmd.Start()
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &child{cmd: cmd, in: in, file: out, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// serve starts the server.
func (b *bench) serve(ctx context.Context) (*child, error) {
	return spawn(ctx, b.program, "server:start")
}

// close closes the process's input, which may be closed already, and waits for the process to end.
func (c *child) close() error {
	err := c.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	for {
		if _, readErr := c.out.Discard(1 << 16); readErr != nil {
			break
		}
	}
	return errors.Join(err, c.cmd.Wait(), c.file.Close())
}

// ask sends one line and reads one.
func (c *child) ask(line []byte) error {
	if _, err := c.in.Write(line); err != nil {
		return err
	}
	_, err := c.line()
	return err
}

// line reads one line, which is valid until the next call.
func (c *child) line() ([]byte, error) {
	line, err := c.out.ReadSlice('\n')
	for whole := []byte(nil); ; {
		if !errors.Is(err, bufio.ErrBufferFull) {
			if whole == nil {
				return line, err
			}
			return append(whole, line...), err
		}
		whole = append(whole, line...)
		line, err = c.out.ReadSlice('\n')
	}
}

// request returns one line of JSON-RPC.
func (c *child) request(method string, params any) ([]byte, error) {
	c.id++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	return append(text, '\n'), err
}

// notification identifies lines that are not answers.
const notification = `"method":"events.notification"`

// call sends one request and decodes its result. It skips notifications.
func (c *child) call(method string, params, result any) error {
	line, err := c.request(method, params)
	if err != nil {
		return err
	}
	if _, err := c.in.Write(line); err != nil {
		return err
	}
	for {
		line, err := c.line()
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if !bytes.Contains(line, []byte(notification)) {
			return decode(method, line, result)
		}
	}
}

// decode decodes an answer.
func decode(method string, line []byte, result any) error {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %s", method, answer.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// flood writes the same line n times and reads n lines back.
func (c *child) flood(line []byte, n int) error {
	written := make(chan error, 1)
	go func() { // ends with the last line or with the process
		block := bytes.Repeat(line, 512)
		var err error
		for left := n; left > 0 && err == nil; left -= 512 {
			_, err = c.in.Write(block[:min(left, 512)*len(line)])
		}
		written <- err
	}()
	for range n {
		if _, err := c.line(); err != nil {
			return err
		}
	}
	return <-written
}
