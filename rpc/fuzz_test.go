package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"ac/internal/canonjson"
	"ac/internal/fault"
)

// FuzzParse compares parse with encoding/json: both must agree on what is valid
// JSON. The id of an answer must come from the request.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		pingLine("1e3"), pingLine(`"\ud800"`), `{"jsonrpc":"2.0","id":true,"method":"a"}`, `[]`, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","method":"a","params":null}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, wireErr := parse(line)
		if !json.Valid(line) {
			if wireErr == nil || wireErr.Code != CodeParse {
				t.Fatalf("no JSON, but %v", wireErr)
			}
			return
		}
		if wireErr != nil && wireErr.Code == CodeParse {
			if _, err := canonjson.Value(line, 0); !errors.Is(err, canonjson.ErrDepth) {
				t.Fatalf("JSON, but %v", wireErr)
			}
			return
		}
		answer := appendAnswer(nil, answeredID(r.id), nil, nil)
		if !json.Valid(answer) || answer[len(answer)-1] != '\n' || bytes.Count(answer, []byte("\n")) != 1 {
			t.Fatalf("answer %q", answer)
		}
		if r.id != nil && !bytes.Equal(r.id, nullID) && !bytes.Contains(bytes.ToValidUTF8(line, []byte("\uFFFD")), r.id) {
			t.Fatalf("id %q is not in %q", r.id, line)
		}
	})
}

// answeredID returns the id for an answer, null if the request has none.
func answeredID(id []byte) []byte {
	if id == nil {
		return nullID
	}
	return id
}

// FuzzParams decodes params of a few methods. Every rejection must carry issues.
// Accepted params must decode to the same value from their canonical JSON.
func FuzzParams(f *testing.F) {
	methods := []string{"workspace.init", "run.replay", "session.launch", "events.subscribe", "session.poll", "workspace.project.create_with_defaults"}
	for i, params := range []string{
		`{"workspace_dir":"/w","company_name":"A","force":true}`, `{"workspace_dir":"/w","project_id":"p","run_id":"r","tail":5.0,"mode":"raw"}`,
		`{"workspace_dir":"/w","project_id":"p","run_id":"r","argv":["a"],"env":{"A":"1","A":2},"budget":{"soft_tokens":1e400}}`,
		`{"since":{"r":1},"event_types":[],"backfill_limit":9e9}`, `{"session_ref":"\ud800"}`, `[1,{"a":null}]`,
	} {
		f.Add(uint8(i), []byte(params))
	}
	table := NewTable("")
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		raw = bytes.TrimSpace(raw)
		if _, err := canonjson.Canonical(nil, raw); err != nil {
			return
		}
		m := table.byName[methods[int(which)%len(methods)]]
		_, _, err := m.prepare(m.params(), raw)
		refused, ok := errors.AsType[*fault.Error](err)
		if err != nil && (!ok || refused.Reason != fault.InvalidParams || len(refused.Issues) == 0) {
			t.Fatalf("%s: %v", raw, err)
		}
		if err != nil {
			if text, err := Encode(ToWire(refused)); err != nil || !json.Valid(text) {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		canonical, err := canonjson.Canonical(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := m.prepare(m.params(), raw)
		again, _, err := m.prepare(m.params(), canonical)
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("%s was accepted, %s is not: %v", raw, canonical, err)
		}
	})
}

// TestOpenRPC checks that the OpenRPC document names every method with its params.
func TestOpenRPC(t *testing.T) {
	t.Parallel()
	table := NewTable("v")
	text, err := json.Marshal(table.Describe("v"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenRPC string
		Methods []struct {
			Name   string
			Params []struct {
				Name   string
				Schema map[string]any
			}
			Result struct{ Schema map[string]any }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, m := range document.Methods {
		seen[m.Name] = true
		var names []string
		for _, p := range m.Params {
			names = append(names, p.Name)
			if len(p.Schema) == 0 {
				t.Errorf("%s: %s has no schema", m.Name, p.Name)
			}
		}
		if want := table.methods[i].params().Names(); !slices.Equal(names, want) {
			t.Errorf("%s: params %v, want %v", m.Name, names, want)
		}
	}
	if len(seen) != len(table.methods) {
		t.Errorf("methods: %v", slices.Sorted(maps.Keys(seen)))
	}
}
