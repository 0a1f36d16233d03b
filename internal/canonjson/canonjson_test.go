package canonjson

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":[1.0,1e21,1e20,123456789012345680000,1e-6,1e-7,0.30000000000000004,-0,-1.5,9007199254740993,5e-324,1.7976931348623157e308],"10":"ten","2":"two","a":{},"c":[],"":"","é":true,"__x":null,"nested":{"z":1,"1":0,"y":false}}`: `{"2":"two","10":"ten","b":[1,1e+21,100000000000000000000,123456789012345680000,0.000001,1e-7,0.30000000000000004,0,-1.5,9007199254740992,5e-324,1.7976931348623157e+308],"a":{},"c":[],"":"","é":true,"__x":null,"nested":{"1":0,"z":1,"y":false}}`,
		` { "a" : 1 , "b" : 2 , "a" : 3 } `:                                              `{"a":3,"b":2}`,
		`{"4294967295":1,"4294967294":2,"01":3,"0":4}`:                                   `{"0":4,"4294967294":2,"4294967295":1,"01":3}`,
		`"\u0065\ud83d\ude00\ud800x\udc00\ud800\ud800\udc00\u2028\u007f\/<\u001F\u000b"`: "\"e😀\\ud800x\\udc00\\ud800𐀀\u2028\x7f/<\\u001f\\u000b\"",
		"\"\\ud83d\xed\xb8\x80 \xed\xa0\xbd\\ude00 \\ude00\xed\xa0\xbd\"":                "\"😀 😀 \\ude00\\ud83d\"",
		"{\"1\xa6\xa0\":1,\"1\xa6\xe4\":2}":                                              "{\"1\uFFFD\uFFFD\":2}",
		`[true,false,null,-0.0,1e400]`:                                                   `[true,false,null,0,null]`,
	} {
		got, err := Canonical(nil, []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s (%v)\nwant %s", in, got, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{`, `{"a"`, `{"a":}`, `[1,]`, `{"a":1,}`, `01`, `1.`, `-`, `"\x"`, `"\u12"`, "\"\n\"", `tru`, `1 2`, strings.Repeat("[", 20000)} {
		if _, err := Canonical(nil, []byte(in)); err == nil {
			t.Errorf("%.40q was accepted", in)
		}
	}
}

// TestScannerAgrees compares the scanner with the standard library on valid and invalid JSON.
func TestScannerAgrees(t *testing.T) {
	t.Parallel()
	alphabet := rapid.SliceOf(rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"\u00e9"`, `"`, "1", "-1.5e3", "0", "true", "null", " ", "\\"}))
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(alphabet.Draw(t, "tokens"), ""))
		_, err := Canonical(nil, text)
		if ok := json.Valid(text); ok != (err == nil) {
			t.Fatalf("%q: valid %v, but %v", text, ok, err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"2":1,"a":"\ud800","1":[1e21]}`))
	f.Add([]byte("{\"1\xa6\xa0\":\"0\",\"1\xa6\xe4\":\"1\",\"\":[]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Canonical(nil, text)
		if ok := json.Valid(text); ok != (err == nil) && !errors.Is(err, ErrDepth) {
			t.Fatalf("valid %v, but %v", ok, err)
		}
		if err != nil {
			return
		}
		twice, err := Canonical(nil, once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q is not a fixed point: %q (%v)", once, twice, err)
		}
	})
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`[]`: "", "[ 1 , \"a,]\" ,[2,3],{\"b\":[4]} ]": `1|"a,]"|[2,3]|{"b":[4]}`} {
		var got []string
		if err := Elements([]byte(in), func(v []byte) { got = append(got, string(v)) }); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]error{`{}`: ErrNoArray, `"a"`: ErrNoArray, ``: nil, `[1`: nil, `[1] 2`: nil, `[1,]`: nil} {
		if err := Elements([]byte(in), func([]byte) {}); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", in, err, want)
		}
	}
}

// TestCheckedAgrees compares CheckedMembers and CheckedElements with their checking variants:
// after Value accepted a text, both visit the same. The unescaped part of a string ends at the
// same byte at any alignment.
func TestCheckedAgrees(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{`a`, `é`, `\"`, `\\`, `\\\"`, `\u00e9`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\x1f", "\x80", `01234567`})
	text := rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "") + `"`
	})
	var value *rapid.Generator[string]
	value = rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return "[" + strings.Join(rapid.SliceOfN(value, 0, 4).Draw(t, "list"), " ,") + " ]"
		case 1, 2:
			var members []string
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				members = append(members, text.Draw(t, "key")+" : "+value.Draw(t, "value"))
			}
			return "{ " + strings.Join(members, ",\t") + "}\n"
		case 3:
			return rapid.SampledFrom([]string{"true", "null", "-1.5e3", "0", "truth", "{", "1 2"}).Draw(t, "word")
		}
		return text.Draw(t, "string")
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(" " + value.Draw(t, "json"))
		if end, err := Value(raw, 0); err != nil || skipSpace(raw, end) != len(raw) {
			if json.Valid(raw) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		var want, got []string
		err := Members(raw, func(m Member) { want = append(want, string(m.Key), string(m.Value)) })
		ok := CheckedMembers(raw, func(k, v []byte) { got = append(got, string(k), string(v)) })
		if ok != (err == nil) || !slices.Equal(want, got) {
			t.Fatalf("%q: %q %v, checked %q %v", raw, want, err, got, ok)
		}
		want, got = nil, nil
		err = Elements(raw, func(v []byte) { want = append(want, string(v)) })
		ok = CheckedElements(raw, func(v []byte) { got = append(got, string(v)) })
		if ok != (err == nil) || !slices.Equal(want, got) {
			t.Fatalf("%q: %q %v, checked %q %v", raw, want, err, got, ok)
		}
	})
}
