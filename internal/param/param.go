// Package param decodes the params of a request: raw JSON into a struct, by the
// rules in its tags (package shape), with one issue for each bad field.
package param

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/internal/shape"
)

// Decoder decodes the params of one method. It is immutable and safe for
// concurrent use.
type Decoder struct{ plan *shape.Plan }

// NewDecoder returns the decoder for a params struct.
func NewDecoder(t reflect.Type) *Decoder { return &Decoder{plan: shape.Compile(t)} }

// maxValues bounds the number of values in one param. A string counts as one, however long it
// is, so only lists and objects come near the bound.
const maxValues = 50_000

// maxUnknown bounds how many unknown params of a strict struct are reported.
const maxUnknown = 20

// Decode fills the struct that target points to from raw params, which may be
// nil or null if the request has none. The error is a *fault.Error with all
// issues. Unknown fields are ignored and cost no memory, except in strict
// structs, where they are issues.
func (d *Decoder) Decode(raw []byte, target any) error {
	value := &shape.Value{Kind: shape.Map}
	var issues, tooLarge []fault.Issue
	switch {
	case raw != nil && string(raw) != "null":
		*value, tooLarge = d.buildKnown(raw)
	case d.plan.Needed():
		value.Kind = shape.Absent
	}
	for _, i := range d.plan.Bind(value, target) {
		sameParam := func(large fault.Issue) bool { return len(i.Path) > 0 && i.Path[0] == large.Path[0] }
		if !slices.ContainsFunc(tooLarge, sameParam) {
			issues = append(issues, i)
		}
	}
	if issues = append(issues, tooLarge...); len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}

// buildKnown builds the tree of those params that the struct has. Of a duplicate param the last one
// counts. Params with too many values are issues.
func (d *Decoder) buildKnown(raw []byte) (v shape.Value, tooLarge []fault.Issue) {
	if raw[0] != '{' {
		p := parser{text: raw, left: 1}
		return p.value(), nil // only its kind matters
	}
	v.Kind = shape.Map
	members := map[string][]byte{}
	_ = canonjson.Members(raw, func(m canonjson.Member) { // cannot fail: its line was checked
		switch name := string(m.Key); {
		case d.plan.Has(name):
			members[name] = m.Value
		case d.plan.Strict() && len(v.Keys) < maxUnknown: // only its name matters
			v.Keys, v.Items = append(v.Keys, name), append(v.Items, shape.Value{Kind: shape.Null})
		}
	})
	for _, name := range d.plan.Names() {
		text, there := members[name]
		if !there {
			continue
		}
		p := parser{text: text, left: maxValues}
		value := p.value()
		if p.left < 0 {
			maximum, inclusive := float64(maxValues), true
			tooLarge = append(tooLarge, fault.Issue{
				Path: []any{name}, Code: "too_big", Maximum: &maximum, Inclusive: &inclusive,
				Message: fmt.Sprintf("must have at most %d values", maxValues),
			})
			continue
		}
		v.Keys, v.Items = append(v.Keys, name), append(v.Items, value)
	}
	return v, tooLarge
}

// Parse builds the tree of JSON text that was checked before.
func Parse(raw []byte) shape.Value {
	p := parser{text: raw, left: math.MaxInt}
	return p.value()
}

// Schema returns the JSON Schema of the params.
func (d *Decoder) Schema() *shape.Schema { return d.plan.Schema() }

// Names lists the params in the order of the struct.
func (d *Decoder) Names() []string { return d.plan.Names() }

// parser builds the tree of JSON text that was checked before. It stops when its budget of
// values is used up, which makes left negative.
type parser struct {
	text []byte
	at   int
	left int
}

func (p *parser) space() byte {
	for {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			p.at++
		default:
			return c
		}
	}
}

func (p *parser) value() shape.Value {
	p.left--
	switch c := p.space(); c {
	case '{':
		return p.object()
	case '[':
		p.at++
		v := shape.Value{Kind: shape.List}
		for p.left >= 0 && p.space() != ']' {
			v.Items = append(v.Items, p.value())
		}
		p.at++
		return v
	case '"':
		return shape.Value{Kind: shape.String, Text: p.str()}
	case 't', 'n':
		p.at += 4
		if c == 'n' {
			return shape.Value{Kind: shape.Null}
		}
		return shape.Value{Kind: shape.Bool, Bool: true}
	case 'f':
		p.at += 5
		return shape.Value{Kind: shape.Bool}
	}
	end, _ := canonjson.Value(p.text, p.at)
	n, _ := strconv.ParseFloat(string(p.text[p.at:end]), 64) // out of range: infinite, rejected by Bind
	p.at = end
	return shape.Value{Kind: shape.Number, Num: n}
}

func (p *parser) object() shape.Value {
	p.at++
	v := shape.Value{Kind: shape.Map}
	for p.left >= 0 && p.space() != '}' {
		key := p.str()
		v.Keys = append(v.Keys, key)
		v.Items = append(v.Items, p.value())
	}
	p.at++
	return v
}

// str decodes a string. Invalid UTF-8 becomes U+FFFD, as in all output.
func (p *parser) str() string {
	end, _ := canonjson.Value(p.text, p.at)
	s := canonjson.Unquote(p.text[p.at:end])
	if !utf8.ValidString(s) {
		s = canonjson.Unquote(canonjson.AppendString(nil, s)) // lone surrogates stay
	}
	p.at = end
	return s
}
