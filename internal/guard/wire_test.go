package guard

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"
)

// orders returns lines as supervisors write them, and as later versions may extend them.
func orders(t testing.TB) (lines [][]byte) {
	t.Helper()
	for _, o := range []Order{
		{},
		{Signal: 15},
		{Sweep: true},
		{Start: &Start{}},
		{Start: &Start{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo \"\\\t\r\n\b\f\x00\x1f\x7f<>&\u2028 ä 😀\""}, Env: []string{}, Dir: "/", Terminal: true}},
		{Start: &Start{Path: "a\xffb", Argv: []string{"\xf0\x9f"}, Env: []string{"A=b", "", "😀"}}},
	} {
		line, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, append(line, '\n'))
	}
	return append(
		lines,
		[]byte(" {\t\"signal\" : -9 , \"later\":{\"a\":[1,-2.5e+3,true,false,null,\"x\",{}],\"b\":[]}}\r\n"),
		[]byte(`{"start":{"path":"\/\u0041\ud83d\ude00\ud83d\u0041\ud83dx\ude00\"","argv":null,"sweep":2},"sweep":false}`),
	)
}

// TestOrders checks that parseOrder agrees with encoding/json on valid lines, and refuses
// malformed ones.
func TestOrders(t *testing.T) {
	t.Parallel()
	for _, line := range orders(t) {
		var want Order
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if got, err := parseOrder(line); err != nil || !reflect.DeepEqual(normal(got), normal(want)) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{
		"", "x", "{", "[]", `{"signal":}`, `{"signal":"9"}`, `{"sweep":1}`, `{"sweep":true`, `{"sweep":true}}`, `{"sweep":true,}`, `{"start":"x"}`,
		`{"start":{"path":"`, `{"start":{"path":"\`, `{"start":{"path":"\x"}}`, `{"start":{"path":"\u12"}}`, `{"start":{"argv":["a",]}}`, `{"start":{"argv":["a" "b"]}}`,
		"{\"start\":{\"path\":\"a\nb\"}}", `{"signal":99999999999999999999}`,
	} {
		if got, err := parseOrder([]byte(line)); err == nil {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// normal replaces empty lists with nil. No caller distinguishes them.
func normal(o Order) Order {
	if o.Start != nil {
		s := *o.Start
		s.Argv, s.Env = slices.Clip(append([]string(nil), s.Argv...)), slices.Clip(append([]string(nil), s.Env...))
		o.Start = &s
	}
	return o
}

// TestReports checks that encoding/json decodes a report from its line.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, want := range []Report{
		{},
		{PID: 12, Start: "3f:77"},
		{Error: "exec \"/x\\y\": \n\t\x00 ä 😀 \u2028"},
		{Exit: &Exit{}},
		{Exit: &Exit{Code: -1, Signal: 9}},
		{Swept: &Swept{Left: []int{}}},
		{Swept: &Swept{Left: []int{7, 8}}, PID: 1, Exit: &Exit{Code: 3}},
	} {
		line := want.line()
		var got Report
		if err := json.Unmarshal(line, &got); err != nil || !reflect.DeepEqual(got, want) || line[len(line)-1] != '\n' {
			t.Errorf("%s: %+v (%v), not %+v", line, got, err, want)
		}
	}
	if got, want := string(Report{Error: "a\xffb"}.line()), "{\"error\":\"a\ufffdb\"}\n"; got != want {
		t.Errorf("%q", got)
	}
}

// FuzzOrder checks that an accepted order keeps its meaning when it is encoded and parsed again.
func FuzzOrder(f *testing.F) {
	for _, line := range orders(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := parseOrder(line)
		if err != nil || !utf8.Valid(line) {
			return // invalid UTF-8 is kept, unlike in encoding/json
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseOrder(again); err != nil || !reflect.DeepEqual(normal(back), normal(got)) {
			t.Errorf("%q: %+v, then %+v (%v)", line, got, back, err)
		}
	})
}
