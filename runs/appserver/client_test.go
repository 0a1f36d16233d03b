package appserver

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"

	"ac/runs/usage"
)

// TestMain checks that no conversation leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play runs a turn against a script: pairs of the line that is expected from us
// and the lines that the provider answers.
func play(t *testing.T, script [][]string, notices Notices) (Outcome, []string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, w := io.Pipe()
	c := New(ctx, w, notices)
	heard := make(chan []string, 1)
	go func() {
		var lines []string
		in := bufio.NewScanner(r)
		for _, answers := range script {
			if !in.Scan() {
				break
			}
			lines = append(lines, in.Text())
			for _, answer := range answers {
				c.Line([]byte(answer))
			}
		}
		c.End()
		_ = r.Close()
		heard <- lines
	}()
	outcome, err := c.Run(ctx, Spec{Version: "1", Dir: "/repo", Sandbox: "read-only", Prompt: "do <it> & \"that\""})
	lines := <-heard
	c.Close()
	<-c.conn.DisconnectNotify()
	return outcome, lines, err
}

// TestOthers shows a turn whose agent lets another one work: that one has a thread of
// its own, with notifications on the same connection, whose charges are ours.
func TestOthers(t *testing.T) {
	t.Parallel()
	var last usage.Report
	outcome, _, err := play(t, [][]string{
		{`{"id":1,"result":{}}`},
		{},
		{`{"id":2,"result":{"thread":{"id":"th_1"}}}`},
		{
			`{"id":3,"result":{"turn":{"id":"tu_1"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"th_1","tokenUsage":{"total":{"inputTokens":5,"outputTokens":2}}}}`,
			`{"method":"item/agentMessage/delta","params":{"threadId":"th_2","delta":"of the other"}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"th_2","tokenUsage":{"total":{"inputTokens":7,"outputTokens":1}}}}`,
			`{"method":"error","params":{"threadId":"th_2","error":{"message":"of the other"}}}`,
			`{"method":"turn/completed","params":{"threadId":"th_2","turn":{"id":"tu_2","status":"failed"}}}`,
			`{"method":"item/agentMessage/delta","params":{"threadId":"th_1","delta":"ours"}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"th_1","tokenUsage":{"total":{"inputTokens":6,"outputTokens":3}}}}`,
			`{"method":"turn/completed","params":{"threadId":"th_1","turn":{"id":"tu_1","status":"completed"}}}`,
		},
	}, Notices{Usage: func(r usage.Report) { last = r }})
	if err != nil || outcome.Status != Completed || outcome.Answer != "ours" || outcome.Error != "" || last.Total != 17 {
		t.Errorf("%v: %+v, %+v", err, outcome, last)
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	var reports []usage.Report
	var cycles []usage.Cycle
	var known []string
	outcome, heard, err := play(t, [][]string{
		{"banner, not JSON", `[1]`, `{"neither":true}`, `{"id":99,"result":{}}`, `{"id":1,"result":{"userAgent":"x"}}`},
		{},
		{`{"method":"thread/started","params":{}}`, `{"id":2,"result":{"thread":{"id":"th_1"}}}`},
		{
			`{"id":3,"result":{"turn":{"id":"tu_1"}}}`,
			`{"id":"ask","method":"applyPatchApproval","params":{}}`,
		},
		{`{"id":-3,"method":"applyPatchApproval","params":{}}`},
		{`{"id":9007199254740993,"method":"applyPatchApproval","params":{}}`},
		{`{"id":1.50,"method":"applyPatchApproval","params":{}}`},
		{
			`{"method":"item/agentMessage/delta","params":{"delta":"Hel"}}`,
			`{"method":"item/agentMessage/delta","params":{"delta":"lo"}}`,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":5,"outputTokens":2},"last":{"totalTokens":1}}}}`,
			`{"method":"thread/compacted","params":{"threadId":"th_1"}}`,
			`{"method":"turn/completed","params":{"turn":{"id":"tu_1","status":"completed"}}}`,
		},
	}, Notices{
		Thread: func(id string) { known = append(known, id) }, Turn: func(id string) { known = append(known, id) },
		Usage:  func(r usage.Report) { reports = append(reports, r) },
		Cycles: func(c []usage.Cycle) { cycles = append(cycles, c...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Outcome{"th_1", "tu_1", Completed, "", "Hello"}, outcome); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"agentcompany","version":"1"},"capabilities":null}}`,
		`{"method":"initialized"}`,
		`{"id":2,"method":"thread/start","params":{"model":null,"cwd":"/repo","approvalPolicy":"never","sandbox":"read-only"}}`,
		`{"id":3,"method":"turn/start","params":{"threadId":"th_1","input":[{"type":"text","text":"do <it> & \"that\"","text_elements":[]}]}}`,
		`{"id":"ask","error":{"code":-32601,"message":"Unknown method: applyPatchApproval"}}`,
		`{"id":-3,"error":{"code":-32601,"message":"Unknown method: applyPatchApproval"}}`,
		`{"id":9007199254740993,"error":{"code":-32601,"message":"Unknown method: applyPatchApproval"}}`,
		`{"id":1.50,"error":{"code":-32601,"message":"Unknown method: applyPatchApproval"}}`,
	}, heard); diff != "" {
		t.Error(diff)
	}
	if len(reports) != 1 || reports[0].Total != 7 || len(cycles) != 1 || cycles[0].Type != "thread/compacted" || strings.Join(known, " ") != "th_1 tu_1" {
		t.Errorf("%+v %+v %v", reports, cycles, known)
	}
}

// TestEnds pins what each way to end says.
func TestEnds(t *testing.T) {
	t.Parallel()
	greet := []string{`{"id":1,"result":{}}`}
	thread := []string{`{"id":2,"result":{"thread":{"id":"th"}}}`}
	turn := `{"id":3,"result":{"turn":{"id":"tu"}}}`
	for name, c := range map[string]struct {
		script [][]string
		status string
		err    string
	}{
		"refused":       {[][]string{{`{"id":1,"error":{"code":-1,"message":"no login"}}`}}, "", "no login"},
		"gone at once":  {[][]string{{}}, "", "initialize: the provider ended"},
		"gone in turn":  {[][]string{greet, {}, thread, {turn}}, "", "before its turn was completed"},
		"interrupted":   {[][]string{greet, {}, thread, {turn, `{"method":"turn/completed","params":{"turn":{"status":"interrupted"}}}`}}, Interrupted, ""},
		"odd error":     {[][]string{greet, {}, thread, {turn, `{"method":"turn/completed","params":{"turn":{"status":"completed","error":"text"}}}`}}, Completed, ""},
		"odd status":    {[][]string{greet, {}, thread, {turn, `{"method":"turn/completed","params":{"turn":{"status":"exploded"}}}`}}, Failed, ""},
		"before answer": {[][]string{greet, {}, thread, {`{"method":"turn/completed","params":{"turn":{"status":"failed","error":{"message":"m"}}}}`, turn}}, Failed, ""},
	} {
		outcome, _, err := play(t, c.script, Notices{})
		if outcome.Status != c.status || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
	}
}

// TestAnswerInPieces: an answer of pieces of four letters is not copied for each
// of them. It is no parallel test, since it counts the memory of the process.
func TestAnswerInPieces(t *testing.T) { //nolint:paralleltest // it counts allocations
	const pieces = 10_000
	delta := &jsonrpc2.Request{Method: "item/agentMessage/delta"}
	allocations := testing.AllocsPerRun(1, func() {
		c := &Client{}
		for range pieces {
			c.take(delta, message{Delta: "word"})
		}
		if c.answer.Len() != 4*pieces {
			t.Error(c.answer.Len())
		}
	})
	if allocations > pieces/10 {
		t.Errorf("%.0f allocations for %d pieces", allocations, pieces)
	}
}
