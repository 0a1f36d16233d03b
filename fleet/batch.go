package fleet

// Encoding of batches. Most of a batch is payloads that are already JSON. They are copied
// verbatim and parsed in one scan, where encoding/json needs three.

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"ac/internal/canonjson"
)

// Append appends the encoded batch to dst. Payloads must be JSON.
func (b Batch) Append(dst []byte) ([]byte, error) {
	head := b
	head.Drafts = nil
	text, err := compact(head)
	if err != nil {
		return dst, err
	}
	before, after, found := bytes.Cut(text, []byte(noDrafts))
	if !found {
		return dst, errors.New("a batch has no place for its drafts")
	}
	dst = append(append(dst, before...), `"drafts":[`...)
	for i, d := range b.Drafts {
		if i > 0 {
			dst = append(dst, ',')
		}
		payload := d.Payload
		d.Payload = nil
		if text, err = compact(d); err != nil {
			return dst, err
		}
		dst = append(dst, text...)
		if len(payload) > 0 {
			dst = append(append(append(dst[:len(dst)-1], `,"payload":`...), payload...), '}')
		}
	}
	return append(append(dst, ']'), after...), nil
}

// noDrafts is how a batch without drafts encodes them. Its first match is the right one: the only
// text before it is the attempt, in which quotes are escaped.
const noDrafts = `"drafts":null`

// compact encodes a value as compact JSON without HTML escaping.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// ParseBatch parses a batch. For an End it returns the attempt, and end is true. It ignores
// unknown members. Payloads alias text.
func ParseBatch(text []byte) (b Batch, end bool, err error) {
	scanErr := canonjson.Members(text, func(m canonjson.Member) {
		var one error
		switch string(m.Key) {
		case "attempt":
			one = readText(m.Value, &b.Attempt)
		case "end":
			one = json.Unmarshal(m.Value, &end)
		case "first":
			one = json.Unmarshal(m.Value, &b.First)
		case "generation":
			one = json.Unmarshal(m.Value, &b.Generation)
		case "spec":
			one = json.Unmarshal(m.Value, &b.Spec)
		case "record":
			one = json.Unmarshal(m.Value, &b.Record)
		case "drafts":
			b.Drafts, one = readDrafts(m.Value)
		}
		if err == nil {
			err = one
		}
	})
	return b, end, errors.Join(scanErr, err)
}

// readDrafts parses drafts from text that was already validated.
func readDrafts(text []byte) (drafts []Draft, err error) {
	array := canonjson.CheckedElements(text, func(value []byte) {
		if err != nil {
			return
		}
		var d Draft
		if d, err = readDraft(value); err == nil {
			drafts = append(drafts, d)
		}
	})
	if !array && string(text) != "null" {
		return nil, errors.New("the drafts of a batch are no list")
	}
	return drafts, err
}

func readDraft(text []byte) (d Draft, err error) {
	object := canonjson.CheckedMembers(text, func(key, value []byte) {
		var one error
		switch string(key) {
		case "id":
			one = readText(value, &d.ID)
		case "at":
			one = readText(value, &d.At)
		case "mono":
			one = json.Unmarshal(value, &d.Mono)
		case "actor":
			one = readText(value, &d.Actor)
		case "vis":
			one = readText(value, &d.Vis)
		case "type":
			one = readText(value, &d.Type)
		case "object":
			one = readText(value, &d.Object)
		case "cause":
			one = readText(value, &d.Cause)
		case "payload":
			d.Payload = value
		}
		if err == nil {
			err = one
		}
	})
	if !object {
		return d, errors.New("a draft is no object")
	}
	return d, err
}

// readText is json.Unmarshal for a string, with a fast path for one without escapes.
func readText(value []byte, to *string) error {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 || !utf8.Valid(value) {
		return json.Unmarshal(value, to)
	}
	*to = string(value[1 : len(value)-1])
	return nil
}
