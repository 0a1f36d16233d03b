package shape

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMarshalJSON(t *testing.T) {
	t.Parallel()
	v := Value{Kind: Map, Keys: []string{"b", "a", "<é>"}, Items: []Value{
		{Kind: List, Items: []Value{{Kind: Null}, {Kind: Bool, Bool: true}, {Kind: Bool}, {Kind: Number, Num: 1e3}, {Kind: Number, Num: -0.5}, {Kind: Number, Num: math.Inf(1)}}},
		{Kind: String, Text: "x\n\"\u2028"}, {Kind: Map},
	}}
	got, err := json.Marshal(v)
	var back any
	if err == nil {
		err = json.Unmarshal(got, &back)
	}
	if want := `{"b":[null,true,false,1000,-0.5,null],"a":"x\n\"\u2028","\u003cé\u003e":{}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
