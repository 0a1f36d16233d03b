package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/events"
)

// sealed encodes drafts as a log, as package events writes it.
func sealed(drafts []events.Draft) []byte { return events.Encode(drafts...) }

// longLog returns the log, of about size bytes, of a run with a kind of agent.
func longLog(kind string, size int) []byte {
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	drafts := []events.Draft{{
		ID: "evt_01M7YXHQHPJNN54MJ05XFYG9MK", At: at, RunID: "run_01M7YXHQHPJNN54MJ05XFYG9MK", SessionRef: "local_run_01M7YXHQHPJNN54MJ05XFYG9MK",
		Actor: "system", Visibility: "org", Type: "run.executing", Payload: []byte(`{"driver":"` + kind + `"}`),
	}}
	written := 0
	add := func(chunk string) {
		payload, _ := json.Marshal(map[string]string{"stream": "stdout", "chunk": chunk})
		d := drafts[0]
		d.ID, d.Type, d.Payload = fmt.Sprintf("evt_01M7YXHQHPJNN54MJ%010d", len(drafts)), "provider.raw", payload
		d.At = at.Add(time.Duration(len(drafts)) * time.Millisecond)
		drafts = append(drafts, d)
		written += len(payload) + 560
	}
	for n := 0; written < size; n++ {
		switch kind {
		case "codex":
			id := fmt.Sprintf("msg_%d", n)
			line := func(method, rest string) string {
				return `{"method":"` + method + `","params":{"threadId":"01a201f9-2d0e-7eb1-9ae0-4c8abb516b7d","turnId":"01a201f9-2d82-7ef1-9085-a140ad9c49c7",` + rest + `},"emittedAtMs":1795329437574}` + "\n"
			}
			add(line("item/started", `"item":{"type":"agentMessage","id":"`+id+`","text":""}`))
			for range 40 {
				add(line("item/agentMessage/delta", `"itemId":"`+id+`","delta":"some words of the answer, "`))
			}
			add(line("item/completed", `"item":{"type":"agentMessage","id":"`+id+`","text":"`+strings.Repeat("some words of the answer, ", 40)+`"}`))
			add(line("item/completed", `"item":{"type":"commandExecution","id":"exec-`+id+`","command":"bash -lc 'go test ./...'","status":"completed","aggregatedOutput":"`+strings.Repeat(`ok  \tac/runs\t0.5s\n`, 200)+`","exitCode":0}`))
		case "claude":
			id := fmt.Sprintf("msg_%d", n)
			add(`{"type":"assistant","message":{"id":"` + id + `","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_` + id + `","name":"Read","input":{"file_path":"/repo/a.go"}}],"stop_reason":null,"usage":{"input_tokens":600,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"49daf112-2379-49ed-b9fc-62398dffbbb3","uuid":"84555666-e948-48cf-8a11-073f8a5f644d"}` + "\n")
			add(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_` + id + `","type":"tool_result","content":"` + strings.Repeat(`   1\tpackage main \"x\"\n`, 400) + `","is_error":false}]},"parent_tool_use_id":null,"session_id":"49daf112-2379-49ed-b9fc-62398dffbbb3","tool_use_result":{"type":"text"}}` + "\n")
		case "text":
			add(strings.Repeat("a line of what a program prints while it works\n", 1000))
		}
	}
	return sealed(drafts)
}

// heldBy returns the most memory that a fold holds while it reads a log, measured after every
// so many lines.
func heldBy(f *Fold, every int, next func(i int) (line []byte, more bool)) (most int64) {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := 0; ; i++ {
		line, more := next(i)
		if more {
			f.Advance(int64(i+3), line)
		}
		if i%every == every-1 || !more {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, int64(now.HeapAlloc)-int64(before.HeapAlloc))
		}
		if !more {
			runtime.KeepAlive(f)
			return most
		}
	}
}

// logLine returns a line of a log, with the fields that the fold reads.
func logLine(kind, payload string) []byte {
	return []byte(`{"event_id":"evt_1","type":"` + kind + `","actor":"human","session_ref":"local_run_1","ts_wallclock":"2026-11-22T00:00:00.000Z","payload":` + payload + `}`)
}

func output(text string) []byte { return logLine("provider.raw", string(chunkOf("stdout", text))) }

// greedy returns logs that make a fold keep as much as they can. Each has one line and how
// often it is repeated; numbers replace NNN in it.
func greedy() map[string]struct {
	driver string
	line   []byte
	times  int
} {
	type log = struct {
		driver string
		line   []byte
		times  int
	}
	long := strings.Repeat("x", 300<<10)
	codex := func(method, params string) []byte {
		return output(`{"method":"` + method + `","params":{` + params + "}}\n")
	}
	return map[string]log{
		"open messages":   {"codex", codex("item/agentMessage/delta", `"itemId":"mNNN","delta":"`+long[:200<<10]+`"`), 300},
		"closed messages": {"codex", codex("item/completed", `"item":{"type":"agentMessage","id":"mNNN","text":"`+long+`"}`), 300},
		"tools": {"codex", codex("item/started", `"item":{"type":"fileChange","id":"mNNN","changes":[{"path":"`+long[:4000]+`","kind":{"type":"add"},"diff":"`+
			long[:70<<10]+`"}],"status":"inProgress"}`), 1000},
		"output": {"codex", output(`{"method":"item/started","params":{"item":{"type":"commandExecution","id":"e","command":"x","status":"inProgress"}}}` + "\n" +
			`{"method":"item/commandExecution/outputDelta","params":{"itemId":"e","delta":"` + long[:30<<10] + `"}}` + "\n"), 500},
		"texts that wait":       {"acp", logLine("run.steer_queued", `{"steer_id":"sNNN","text":"`+long[:64<<10]+`"}`), 300},
		"questions":             {"acp", logLine("interaction.requested", `{"interaction_id":"int_NNN","kind":"permission","title":"x","diff":"`+long[:64<<10]+`"}`), 300},
		"a line without an end": {"codex", output(`{"a":"` + long), 50},
		"text":                  {"", output(strings.Repeat("a line\n", 40<<10)), 100},
		"one value":             {"", output("{\n\"a\": [\n" + strings.Repeat("1,\n", 100<<10)), 20},
		"ids":                   {"codex", output(strings.Repeat(`{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"NNN`+long[:190]+`","text":"x"}}}`+"\n", 20)), 100},
		"prompts":               {"codex", logLine("run.turn_started", `{"turn":1,"text":"NNN`+long[:60<<10]+`"}`), 1000},
	}
}

// fed feeds the lines of a greedy log to a fold, and returns the most memory that it held.
func fed(f *Fold, driver string, line []byte, times, every int) int64 {
	f.Advance(1, logLine("run.executing", `{"driver":"`+driver+`"}`))
	f.Advance(2, logLine("run.turn_started", `{"turn":1,"text":"x"}`))
	return heldBy(f, every, func(i int) ([]byte, bool) {
		return numbered(line, i), i < times
	})
}

// numbered replaces each NNN with another number.
func numbered(line []byte, i int) []byte {
	for n := 1000 * i; bytes.Contains(line, []byte("NNN")); n++ {
		line = bytes.Replace(line, []byte("NNN"), []byte(strconv.Itoa(n)), 1)
	}
	return line
}

// TestBriefFoldIsSmall checks that the fold of a supervisor stays within 4 MiB, whatever the
// log.
func TestBriefFoldIsSmall(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for name, g := range greedy() {
		most := fed(NewBrief(""), g.driver, g.line, min(g.times, 120), 20)
		t.Logf("%s: %d KiB", name, most>>10)
		if most > 4<<20 {
			t.Errorf("%s: the fold holds %d KiB", name, most>>10)
		}
	}
}

// TestFoldIsBounded checks that a fold that keeps items stays within 64 MiB.
func TestFoldIsBounded(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	for name, g := range greedy() {
		f := NewFold("")
		if g.times*len(g.line) < maxBytes {
			continue
		}
		if most := fed(f, g.driver, g.line, g.times, max(1, g.times/2)); most > 64<<20 {
			t.Errorf("%s: the fold holds %d MiB", name, most>>20)
		}
		if dropped, seq := f.Dropped(); name == "closed messages" && (dropped == 0 || seq == 0) {
			t.Errorf("%s: nothing was dropped of %d items", name, len(f.Items()))
		}
	}
}

// TestItemsAreBounded checks that a fold keeps 50,000 items, and drops the oldest closed ones.
func TestItemsAreBounded(t *testing.T) {
	t.Parallel()
	f := NewFold("")
	f.Advance(1, logLine("run.executing", `{"driver":"codex"}`))
	f.Advance(2, logLine("run.steer_queued", `{"steer_id":"s","text":"it waits"}`))
	seq := int64(2)
	var lines strings.Builder
	for i := range maxItems + 1000 {
		fmt.Fprintf(&lines, `{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m%d","text":"x"}}}`+"\n", i)
		if i%500 == 499 {
			seq++
			f.Advance(seq, output(lines.String()))
			lines.Reset()
		}
	}
	dropped, last := f.Dropped()
	items := f.Items()
	if len(items) != maxItems || dropped != 1001 || last != 5 || items[0].Text != "it waits" || items[1].ID != "1:m1001" || items[maxItems-1].ID != "1:m50999" {
		t.Errorf("%d items from %s on, %d dropped up to %d", len(items), items[1].ID, dropped, last)
	}
}

func BenchmarkFold(b *testing.B) {
	for _, kind := range []string{"codex", "claude", "text"} {
		log := longLog(kind, 30<<20)
		for name, make := range map[string]func(string) *Fold{"full": NewFold, "brief": NewBrief} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(log)))
				for b.Loop() {
					f := make("")
					events := events.NewScanner(bytes.NewReader(log), 0, 0)
					for {
						line, err := events.Next()
						if err != nil {
							break
						}
						f.Advance(line.Seq, line.Raw)
					}
				}
			})
		}
	}
}
