package param

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ac/internal/fault"
)

type inner struct {
	_ struct{} `is:"strict"`
	N *int64   `json:"n" is:"optional,min=0"`
}

type sample struct {
	ID    string            `json:"id" is:"id"`
	Limit int               `json:"limit" is:"optional,gt=0,cut=100"`
	Mode  string            `json:"mode" is:"default=raw,enum=raw|cooked"`
	Force bool              `json:"force" is:"default=true"`
	Words []string          `json:"words" is:"optional"`
	Env   map[string]string `json:"env" is:"optional,empty"`
	Inner *inner            `json:"inner" is:"optional"`
	Text  *string           `json:"text" is:"optional,empty"`
}

// CheckFields rejects the text "bad".
func (s *sample) CheckFields() []fault.Issue {
	if s.Mode == "raw" && s.Text != nil && *s.Text == "bad" {
		return []fault.Issue{{Path: []any{"text"}, Code: "custom", Message: "bad"}, {Path: []any{"id"}, Code: "custom", Message: "of no interest"}}
	}
	return nil
}

func decode(raw string) (s sample, fields []string, err error) {
	var text []byte
	if raw != "absent" {
		text = []byte(raw)
	}
	err = NewDecoder(reflect.TypeFor[sample]()).Decode(text, &s)
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		for _, i := range refused.Issues {
			fields = append(fields, i.Field()+":"+i.Code)
		}
	}
	return s, fields, err
}

func TestDefaultsAndForms(t *testing.T) {
	t.Parallel()
	s, _, err := decode(`{"id":"a","limit":5e2,"env":{"A":"1","A":"","A":"2"},"words":[],"inner":{"n":0.0},"text":"\u00e9\ud800","unknown":[{}],"id":"b"}`)
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != "b" || s.Limit != 100 || s.Mode != "raw" || !s.Force || s.Env["A"] != "2" || s.Words == nil || *s.Inner.N != 0 || !strings.HasPrefix(*s.Text, "é\uFFFD") {
		t.Errorf("%+v", s)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"absent": {"id:invalid_type"}, "null": {"id:invalid_type"}, "[]": {":invalid_type"}, `"x"`: {":invalid_type"}, "1e400": {":invalid_type"},
		`{"id":"../x","limit":0,"mode":"","force":"true","words":["a",1,""],"env":{"A":1},"inner":{"n":-1,"m":1},"text":null}`: {
			"id:custom", "limit:too_small", "mode:too_small", "force:invalid_type", "words[1]:invalid_type", "words[2]:too_small",
			"env.A:invalid_type", "inner.n:too_small", "inner:unrecognized_keys", "text:invalid_type",
		},
		`{"id":"","limit":1.5,"text":"bad"}`:                                      {"id:too_small", "limit:invalid_type", "text:custom"},
		`{"id":"a","limit":9007199254740992}`:                                     {"limit:invalid_type"},
		`{"id":"a","words":[` + strings.Repeat(`"x",`, maxValues) + `"x"]}`:       {"words:too_big"},
		`{"words":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`: {"id:invalid_type", "words[0]:invalid_type"},
	} {
		if _, got, _ := decode(raw); !slices.Equal(got, want) {
			t.Errorf("%.80s\n got %v\nwant %v", raw, got, want)
		}
	}
}

// TestStrictParams checks that a strict struct refuses unknown members and names them.
func TestStrictParams(t *testing.T) {
	t.Parallel()
	var into inner
	err := NewDecoder(reflect.TypeFor[inner]()).Decode([]byte(`{"n":1,"m":{"n":2},"o":[1]}`), &into)
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok || len(refused.Issues) != 1 || !slices.Equal(refused.Issues[0].Keys, []string{"m", "o"}) || len(refused.Issues[0].Path) != 0 {
		t.Errorf("%+v", err)
	}
	if err := NewDecoder(reflect.TypeFor[inner]()).Decode([]byte(`{"n":1}`), &into); err != nil || *into.N != 1 {
		t.Error(err)
	}
}
