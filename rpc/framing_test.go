package rpc

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func pingLine(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"system.ping"}`
}

func pong(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"ok":true}}` }

func refusal(id string, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

func notJSON() string            { return refusal("null", CodeParse, "Parse error") }
func noRequest(id string) string { return refusal(id, CodeInvalidRequest, "Invalid Request") }
func nestedLists(n int) string   { return strings.Repeat("[", n) + strings.Repeat("]", n) }
func withParams(p string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"system.ping","params":` + p + `}`
}
func withUnknown(v string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"system.ping","x":` + v + `}`
}

// TestEnvelopes sends single lines, each followed by a valid request that must
// still be answered. want is "" if the line must get no answer.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"CR before LF", pingLine("1") + "\r", pong("1")},
		{"white space around", "\t  " + pingLine("1") + " \v\f\r", pong("1")},
		{"blank", "", ""},
		{"only white space", " \t\r", ""},
		{"BOM", "\uFEFF" + pingLine("1"), pong("1")},
		{"BOM behind white space", " \uFEFF " + pingLine("1"), pong("1")},
		{"only a BOM", "\uFEFF", ""},
		{"BOM within", "{\uFEFF}", notJSON()},
		{"line separators in a string", pingLine("\"a\u2028b\u2029c\u0085d\""), pong("\"a\u2028b\u2029c\u0085d\"")},
		{"CR in a string", pingLine("\"a\rb\""), notJSON()},
		{"NUL", "\x00", notJSON()},
		{"id beyond a double", pingLine("9007199254740993"), pong("9007199254740993")},
		{"id with an exponent", pingLine("1e3"), pong("1e3")},
		{"id with E+", pingLine("1E+3"), pong("1E+3")},
		{"negative fraction", pingLine("-1.5"), pong("-1.5")},
		{"minus zero", pingLine("-0"), pong("-0")},
		{"id of a hundred digits", pingLine(strings.Repeat("7", 100)), pong(strings.Repeat("7", 100))},
		{"id null", pingLine("null"), pong("null")},
		{"id empty", pingLine(`""`), pong(`""`)},
		{"id zero", pingLine("0"), pong("0")},
		{"id escaped", pingLine(`"\u0041\/\ud800\n<"`), pong(`"\u0041\/\ud800\n<"`)},
		{"id that is no UTF-8", pingLine("\"a\xffb\""), pong("\"a\uFFFDb\"")},
		{"members in any order", `{"params":{},"method":"system.ping","id":1,"jsonrpc":"2.0"}`, pong("1")},
		{"members escaped", `{"\u006asonrpc":"2\u002e0","\u0069d":1,"method":"system\u002eping"}`, pong("1")},
		{"duplicated members", `{"jsonrpc":"1","id":1,"method":"a","jsonrpc":"2.0","id":2,"method":"system.ping"}`, pong("2")},
		{"duplicated id, the last illegal", `{"jsonrpc":"2.0","id":1,"id":[],"method":"system.ping"}`, noRequest("null")},
		{"unknown members", withUnknown(`{"deep":[1,{"id":7}]}`), pong("1")},
		{"white space within", "{ \"jsonrpc\" : \"2.0\" ,\t\"id\" :\r1 , \"method\" : \"system.ping\" }", pong("1")},
		{"batch", "[" + pingLine("1") + "," + pingLine("2") + "]", noRequest("null")},
		{"empty batch", "[]", noRequest("null")},
		{"string", `"text"`, noRequest("null")},
		{"number", "5", noRequest("null")},
		{"literal", "true", noRequest("null")},
		{"null", "null", noRequest("null")},
		{"empty object", "{}", noRequest("null")},
		{"version missing", `{"id":1,"method":"system.ping"}`, noRequest("1")},
		{"version a number", `{"jsonrpc":2.0,"id":"a","method":"system.ping"}`, noRequest(`"a"`)},
		{"version other", `{"jsonrpc":"2.00","id":1,"method":"system.ping"}`, noRequest("1")},
		{"method missing", `{"jsonrpc":"2.0","id":1}`, noRequest("1")},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":7}`, noRequest("1")},
		{"method empty", `{"jsonrpc":"2.0","id":1,"method":""}`, noRequest("1")},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, noRequest("1")},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"system.ping"}`, noRequest("null")},
		{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"system.ping"}`, noRequest("null")},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"system.ping"}`, noRequest("null")},
		{"id false", `{"jsonrpc":"2.0","id":false,"method":"nope"}`, noRequest("null")},
		{"no version, id illegal", `{"id":true}`, noRequest("null")},
		{"notification", `{"jsonrpc":"2.0","method":"system.ping"}`, ""},
		{"notification of nothing", `{"jsonrpc":"2.0","method":"no.such","params":7}`, ""},
		{"notification without version", `{"method":"system.ping"}`, noRequest("null")},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"a\u0000\"<é","params":7}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Unknown method: a\u0000\"<é"}}`},
		{"garbage", "garbage", notJSON()},
		{"two values", pingLine("1") + pingLine("2"), notJSON()},
		{"truncated", pingLine("1")[:20], notJSON()},
		{"comma at the end", `{"jsonrpc":"2.0","id":1,}`, notJSON()},
		{"single quotes", `{'jsonrpc':'2.0'}`, notJSON()},
		{"number with a leading zero", pingLine("01"), notJSON()},
		{"NaN", pingLine("NaN"), notJSON()},
		{"depth at the cap", withUnknown(nestedLists(maxDepth - 1)), pong("1")},
		{"depth over the cap", withUnknown(nestedLists(maxDepth)), notJSON()},
		{"depth far over the cap", strings.Repeat(`{"a":`, 200_000), notJSON()},
		{"deep params", withParams(`{"a":` + nestedLists(maxDepth-2) + `}`), pong("1")},
		{"invalid UTF-8 in params", withParams("{\"\xff\":\"\xc0\x80\"}"), pong("1")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t)
			p.send(c.line + "\n" + pingLine(`"next"`) + "\n")
			if c.want != "" {
				if got := p.next(); got != c.want {
					t.Errorf("%.200q\n got %s\nwant %s", c.line, got, c.want)
				}
			}
			if got := p.next(); got != pong(`"next"`) {
				t.Errorf("then: %s", got)
			}
			if rest := p.finish(); len(rest) > 0 {
				t.Errorf("and more: %q", rest)
			}
		})
	}
}

func TestLastLineWithoutLF(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{pingLine("1"): pong("1"), `{"jsonrpc":"2.0","id":1,"meth`: notJSON()} {
		p := newPeer(t)
		p.send("\n" + line)
		if rest := p.finish(); !slices.Equal(rest, []string{want}) {
			t.Errorf("%s: %q", line, rest)
		}
	}
}

func TestLineOverTheCap(t *testing.T) {
	t.Parallel()
	const limit = 300_000
	p := newPeerWith(t, func(s *Server) { s.in.max = limit })
	long := withUnknown(`"` + strings.Repeat("x", limit) + `"`)
	atCap := withUnknown(`"` + strings.Repeat("x", limit-len(withUnknown(`""`))) + `"`)
	refused := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"max_line_bytes":300000}}}`
	p.send(long + "\n" + atCap + "\n" + atCap + " \n" + strings.Repeat("[", 3*limit) + "\n" + pingLine("2") + "\n" + long)
	for _, want := range []string{refused, pong("1"), refused, refused, pong("2")} {
		if got := p.next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if rest := p.finish(); !slices.Equal(rest, []string{refused}) {
		t.Errorf("at the end: %q", rest)
	}
}

// TestFramesAgree feeds random text in pieces to the frame reader and compares
// the lines with those of splitting the whole text.
func TestFramesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 40
		words := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "x", " ", "\uFEFF", "\u2028", strings.Repeat("y", 39), strings.Repeat("z", 70_000), "\t"})
		text := strings.Join(rapid.SliceOf(words).Draw(t, "words"), "")
		var want []string
		lines := strings.Split(text, "\n")
		for _, line := range lines {
			if len(line) > limit {
				want = append(want, "long")
				continue
			}
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "\uFEFF"))
			if line != "" {
				want = append(want, line)
			}
		}
		var r io.Reader = strings.NewReader(text)
		switch rapid.IntRange(0, 2).Draw(t, "reader") {
		case 1:
			r = iotest.OneByteReader(strings.NewReader(text))
		case 2:
			r = iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text)))
		}
		f := newFrameReader(r)
		f.max = limit
		var got []string
		for {
			line, err := f.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, errLong) {
				got = append(got, "long")
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\n got %q\nwant %q", text, got, want)
		}
	})
}
