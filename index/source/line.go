package source

// Parsing one line of a log for the index.

import (
	"bytes"
	"errors"
	"hash/crc32"
	"hash/crc64"
	"math"
	"strconv"
	"time"

	"ac/internal/canonjson"
)

// MaxLine bounds the lines that are parsed, in bytes. Longer ones are parse errors.
const MaxLine = 16 << 20

// MaxRaw bounds the text shown of a line that is a parse error, in bytes.
const MaxRaw = 64 << 10

// The library caches both tables, so making them is cheap.
func crcTable() *crc64.Table                { return crc64.MakeTable(crc64.ECMA) }
func castagnoli() *crc32.Table              { return crc32.MakeTable(crc32.Castagnoli) }
func extend(sum uint32, text []byte) uint32 { return crc32.Update(sum, castagnoli(), text) }

// LineSum returns the checksum of a line.
func LineSum(text []byte) uint32 { return crc32.Checksum(text, castagnoli()) }

// Fault codes of a line, as stored.
const (
	faultNoJSON = iota + 1
	faultNoObject
	FaultTooLong
)

// FaultText describes the fault of a line.
func FaultText(code int64) string {
	switch code {
	case faultNoObject:
		return "the line is JSON but not an object"
	case FaultTooLong:
		return "the line has more than 16 MiB"
	}
	return "the line is not JSON"
}

// NoTime is the time of an event without one. It sorts before all others.
const NoTime = math.MinInt64

// Member is a string member of an event. It is absent if the event lacks it or it is not a
// string.
type Member struct {
	Text   []byte // decoded
	absent bool
}

// Pointer returns the text, nil if it is absent.
func (m Member) Pointer() *string {
	if m.absent {
		return nil
	}
	text := string(m.Text)
	return &text
}

// Event is a line that is a JSON object. Its texts are valid as long as the line.
type Event struct {
	Kind, TS, Actor, Session, Visibility Member
	at                                   int64
	hasAt                                bool
	Mono                                 int64
	HasMono                              bool
	Payload                              []byte // raw, nil if absent
}

// Parse parses an event, or returns the fault of the line. Among duplicate members the last
// wins.
func (e *Event) Parse(line []byte) (fault int) {
	none := Member{absent: true}
	*e = Event{Kind: none, TS: none, Actor: none, Session: none, Visibility: none}
	err := canonjson.Members(line, func(m canonjson.Member) {
		switch string(m.Key) {
		case "type":
			e.Kind = textOf(m.Value)
		case "ts_wallclock":
			e.TS = textOf(m.Value)
		case "actor":
			e.Actor = textOf(m.Value)
		case "session_ref":
			e.Session = textOf(m.Value)
		case "visibility":
			e.Visibility = textOf(m.Value)
		case "payload":
			e.Payload = m.Value
		case "ts_monotonic_ms":
			e.Mono, e.HasMono = numberOf(m.Value)
		}
	})
	switch {
	case errors.Is(err, canonjson.ErrNoObject):
		return faultNoObject
	case err != nil:
		return faultNoJSON
	}
	if e.Kind.absent {
		e.Kind = Member{Text: []byte("unknown")}
	}
	if !e.TS.absent {
		e.at, e.hasAt = stampOf(e.TS.Text)
	}
	return 0
}

func textOf(value []byte) Member {
	if value[0] != '"' {
		return Member{absent: true}
	}
	if body := value[1 : len(value)-1]; bytes.IndexByte(body, '\\') < 0 {
		return Member{Text: body}
	}
	return Member{Text: []byte(canonjson.Unquote(value))}
}

// numberOf returns a number rounded down to an integer, if an int64 can hold it.
func numberOf(value []byte) (int64, bool) {
	if value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || math.Abs(f) > math.MaxInt64/2 {
		return 0, false
	}
	return int64(math.Floor(f)), true
}

// stampOf parses a timestamp. A fast path handles the format that ac writes.
func stampOf(text []byte) (ns int64, ok bool) {
	if len(text) == 24 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == '.' && text[23] == 'Z' {
		y, ok1 := digits(text[0:4])
		mo, ok2 := digits(text[5:7])
		d, ok3 := digits(text[8:10])
		h, ok4 := digits(text[11:13])
		mi, ok5 := digits(text[14:16])
		s, ok6 := digits(text[17:19])
		f, ok7 := digits(text[20:23])
		// The general parser handles the last days of a month, and distant years.
		if ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && y >= 1700 && y < 2200 && mo >= 1 && mo <= 12 && d >= 1 && d <= 28 && h < 24 && mi < 60 && s < 60 {
			return time.Date(y, time.Month(mo), d, h, mi, s, f*int(time.Millisecond), time.UTC).UnixNano(), true
		}
	}
	return parseTime(string(text))
}

func digits(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
