package main

// Conversations with agents: latency to a client, reading long transcripts, and the memory and CPU
// of two hundred conversations. This program plays the agents.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
)

func measureLive(ctx context.Context, b *bench) ([]figure, error) {
	var all []figure
	for _, of := range []func(context.Context, *bench) ([]figure, error){measureTranscripts, measureSpeech} {
		found, err := of(ctx, b)
		if all = append(all, found...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// megas is the size of the logs whose transcripts are read, in MB.
const megas = 30

// measureTranscripts reads transcripts of long logs, each with a fresh server.
func measureTranscripts(ctx context.Context, b *bench) (all []figure, err error) {
	dir, project, err := b.workplace(ctx, "transcripts")
	if err != nil {
		return nil, err
	}
	for kind, lines := range map[string]func(n int) []string{"codex": codexLines, "claude": claudeLines} {
		run, head, err := b.longRun(ctx, dir, project, kind, lines)
		if err != nil {
			return all, err
		}
		var first, again samples
		for range 7 {
			if err := b.readTranscript(ctx, dir, project, run, head, &first, &again); err != nil {
				return all, err
			}
		}
		all = append(
			all,
			figure{Name: "run.transcript of 30 MB of " + kind + ", first", Unit: "ms", Seen: ms(first.median()), Target: 300, Note: "by a server that just started; " + first.spread()},
			figure{Name: "run.transcript of 30 MB of " + kind + ", from a seq", Unit: "ms", Seen: ms(again.median()), Target: 5, Note: again.spread()},
		)
	}
	return all, nil
}

// longRun creates a run whose log has megas MB of an agent's output.
func (b *bench) longRun(ctx context.Context, dir, project, kind string, lines func(n int) []string) (run string, head int, err error) {
	c, err := b.serve(ctx)
	if err != nil {
		return "", 0, err
	}
	run, err = c.newRun(dir, project)
	if err = errors.Join(err, c.close()); err != nil {
		return "", 0, err
	}
	at := time.Now().UTC()
	begin := events.Draft{At: at, RunID: run, SessionRef: session.LocalRef(run), Actor: "system", Visibility: "org", Type: "run.executing", Payload: []byte(`{"driver":"` + kind + `"}`)}
	drafts, size := []events.Draft{begin}, 0
	for n := 0; size < megas*1e6; n++ {
		for _, line := range lines(n) {
			payload, err := json.Marshal(map[string]string{"stream": "stdout", "chunk": line + "\n"})
			if err != nil {
				return "", 0, err
			}
			d := begin
			d.Type, d.Payload = "provider.raw", payload
			drafts = append(drafts, d)
			size += len(payload) + 560 // about the size with its envelope
		}
	}
	for i := range drafts {
		drafts[i].ID = fmt.Sprintf("evt_01M7YXHQHPJNN54MJ%010d", i)
	}
	file := filepath.Join(dir, filepath.FromSlash(workspace.LogFile(project, run)))
	return run, len(drafts), os.WriteFile(file, events.Encode(drafts...), 0o644)
}

// readTranscript reads a transcript with a fresh server: the first page, and then repeatedly what
// follows a seq near the end.
func (b *bench) readTranscript(ctx context.Context, dir, project, run string, head int, first, again *samples) error {
	c, err := b.serve(ctx)
	if err != nil {
		return err
	}
	p := map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run}
	err = c.call("workspace.open", map[string]any{"workspace_dir": dir}, nil)
	var page struct {
		Head int `json:"head_seq"`
	}
	for i := range 6 {
		if err != nil {
			break
		}
		began := time.Now()
		err = c.call("run.transcript", p, &page)
		if took := time.Since(began); i == 0 {
			*first = append(*first, took)
		} else {
			*again = append(*again, took)
		}
		p["since_seq"] = head - 20
	}
	if err == nil && page.Head != head {
		err = fmt.Errorf("the transcript ends at %d of %d", page.Head, head)
	}
	return errors.Join(err, c.close())
}

// codexLines returns a message in pieces and a command with its output.
func codexLines(n int) []string {
	id := "msg_" + strconv.Itoa(n)
	line := func(method, rest string) string {
		return `{"method":"` + method + `","params":{"threadId":"01a201f9-2d0e-7eb1-9ae0-4c8abb516b7d","turnId":"01a201f9-2d82-7ef1-9085-a140ad9c49c7",` + rest + `},"emittedAtMs":1795329437583}`
	}
	const words = "some words of the answer, "
	lines := []string{line("item/started", `"item":{"type":"agentMessage","id":"`+id+`","text":""}`)}
	for range 40 {
		lines = append(lines, line("item/agentMessage/delta", `"itemId":"`+id+`","delta":"`+words+`"`))
	}
	output := strings.Repeat(`ok  \tpackage/of/tests\t0.01s\n`, 60)
	return append(
		lines,
		line("item/completed", `"item":{"type":"agentMessage","id":"`+id+`","text":"`+strings.Repeat(words, 40)+`"}`),
		line("item/completed", `"item":{"type":"commandExecution","id":"exec-`+id+`","command":"bash -lc 'go test ./...'","status":"completed","aggregatedOutput":"`+output+`","exitCode":0}`),
	)
}

// claudeLines returns a tool call that reads a file, and the file.
func claudeLines(n int) []string {
	id := "toolu_" + strconv.Itoa(n)
	file := strings.Repeat(`   1\tpackage main \"x\"\n`, 400)
	return []string{
		`{"type":"assistant","message":{"id":"msg_` + id + `","type":"message","role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Read","input":{"file_path":"/w/main.go"}}]},"session_id":"s"}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"` + id + `","type":"tool_result","content":"` + file + `"}]},"session_id":"s"}`,
	}
}

// converse launches a conversation with an agent played by this program.
func (c *child) converse(dir, project, prompt string) (run string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"run_id"`
	}
	err = c.call("run.create", map[string]any{"workspace_dir": dir, "project_id": project, "agent_id": "agent_bench", "provider": "acp"}, &made)
	if err != nil {
		return "", err
	}
	return made.ID, c.call("session.launch", map[string]any{
		"workspace_dir": dir, "project_id": project, "run_id": made.ID, "driver": "acp", "argv": []string{self, agentWord},
		"prompt_text": prompt, "keep_open": true, "idle_timeout_ms": 3600_000,
	}, nil)
}

// measureSpeech times an agent's words until a client of a server receives them.
func measureSpeech(ctx context.Context, b *bench) (all []figure, err error) {
	dir, project, err := b.workplace(ctx, "speech")
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	run, err := c.converse(dir, project, "say 100 2000")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx), dir, session.LocalRef(run))) }()
	err = c.call("events.subscribe", map[string]any{"workspace_dir": dir, "run_id": run, "view": "transcript"}, nil)
	if err != nil {
		return nil, err
	}
	bare, err := b.bareSpeech(ctx)
	if err != nil {
		return nil, err
	}
	// Words from the time of the limit's measurement are still in the pipe. Skip them.
	after := time.Now()
	seen, err := c.heard(60, after, `"transcript.notification"`)
	return []figure{{
		Name: "words of an agent to the client's transcript", Unit: "ms", Seen: ms(seen.median()), Target: 2, Limit: ms(bare.median()), By: "the agent's pipe read directly",
		Note: "ten times a second; recorded, synced, decoded; " + seen.spread(),
	}}, err
}

// heard returns the latencies of n words from lines with a mark. Words from before after are
// skipped.
func (c *child) heard(n int, after time.Time, mark string) (all samples, err error) {
	for len(all) < n {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if !bytes.Contains(line, []byte(mark)) {
			continue
		}
		// If an item is sent whole, its last words are the newest.
		_, text, said := bytes.Cut(line[max(0, bytes.LastIndexByte(line, '@')):], []byte{'@'})
		if !said {
			continue
		}
		digits, _, _ := bytes.Cut(text, []byte{'.'})
		nanos, err := strconv.ParseInt(string(digits), 10, 64)
		if at := time.Unix(0, nanos); err == nil && at.After(after) {
			all = append(all, now.Sub(at))
		}
	}
	return all, nil
}

// bareSpeech times an agent's words read directly from its pipe.
func (b *bench) bareSpeech(ctx context.Context) (samples, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, self, agentWord)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	_, err = c.in.WriteString(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"say 20 60"}]}}` + "\n")
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	all, err := c.heard(50, began, "agent_message_chunk")
	return all, errors.Join(err, c.close())
}

// crowd is the number of concurrent conversations.
const crowd = 200

// measureCrowd measures memory and CPU of conversations, without their agents. It measures them at
// rest, and while each agent says a line a second to a client that follows all events.
func measureCrowd(ctx context.Context, b *bench) (all []figure, err error) {
	dir, project, err := b.workplace(ctx, "crowd")
	if err != nil {
		return nil, err
	}
	c, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	kinds := [][]int{{c.cmd.Process.Pid}, {}, {}} // server, supervisors, guards
	var runs []string
	defer func() {
		for _, run := range runs {
			err = errors.Join(err, stop(context.WithoutCancel(ctx), dir, session.LocalRef(run)))
		}
	}()
	began := time.Now()
	for range crowd {
		run, err := c.converse(dir, project, "rest")
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
		supervisor, guard, err := processes(dir, session.LocalRef(run))
		if err != nil {
			return nil, err
		}
		kinds[1], kinds[2] = append(kinds[1], supervisor), append(kinds[2], guard)
	}
	launched := time.Since(began)
	if err := c.call("events.subscribe", map[string]any{"workspace_dir": dir}, nil); err != nil {
		return nil, err
	}
	atRest, err := costOf(ctx, kinds)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if err := c.tellRun(dir, project, run, "say 1000 600"); err != nil {
			return nil, err
		}
	}
	drained := make(chan struct{})
	go func() { // ends with the server
		defer close(drained)
		for {
			if _, err := c.line(); err != nil {
				return
			}
		}
	}()
	talking, err := costOf(ctx, kinds)
	err = errors.Join(err, c.in.Close())
	<-drained
	return []figure{
		{Name: "200 conversations, launched one after the other", Unit: "ms", Seen: ms(launched) / crowd, Note: "each, to its answer"},
		{Name: "200 conversations at rest, PSS", Unit: "MB", Seen: atRest.memory, Target: 1000, Note: "without the agents; " + atRest.parts},
		{Name: "200 conversations at rest, CPU", Unit: "%", Seen: atRest.share, Note: "of all processors; " + atRest.uses},
		{Name: "200 conversations that talk, PSS", Unit: "MB", Seen: talking.memory, Target: 1000, Note: "each agent says a line a second, and a client follows all events; " + talking.parts},
		{Name: "200 conversations that talk, CPU", Unit: "%", Seen: talking.share, Target: 10, Note: "of all processors, without the agents; " + talking.uses},
	}, err
}

// tellRun sends text to the agent of a run.
func (c *child) tellRun(dir, project, run, text string) error {
	return c.call("run.steer", map[string]any{"workspace_dir": dir, "project_id": project, "run_id": run, "text": text}, nil)
}

// agentWord is the argument that makes this program play an agent.
const agentWord = "speak-acp"

// speak plays an agent of the Agent Client Protocol. On a prompt "say P N", it sends the time N
// times, every P milliseconds. It answers any other prompt at once.
func speak() error {
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if err := in.Decode(&m); err != nil {
			return nil //nolint:nilerr // its input is over
		}
		result := map[string]any{}
		switch m.Method {
		case "initialize":
			result["protocolVersion"], result["agentCapabilities"] = 1, map[string]any{}
		case "session/new":
			result["sessionId"] = "s1"
		case "session/prompt":
			var pause, times int
			_, _ = fmt.Sscanf(m.Params.Prompt[0].Text, "say %d %d", &pause, &times) // other prompts leave 0
			for range times {
				time.Sleep(time.Duration(pause) * time.Millisecond)
				_, err := fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"it is @%d. "}}}}`+"\n", time.Now().UnixNano())
				if err != nil {
					return err
				}
			}
			result["stopReason"] = "end_turn"
		default:
			continue
		}
		if err := out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}); err != nil {
			return err
		}
	}
}
