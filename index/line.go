package index

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

// maxLine bounds the lines that are parsed, in bytes; longer ones are parse
// errors.
const maxLine = 16 << 20

// maxRaw bounds the text of a line that is listed as a parse error.
const maxRaw = 64 << 10

// crcTables are made once by the library and shared.
func crcTable() *crc64.Table                { return crc64.MakeTable(crc64.ECMA) }
func castagnoli() *crc32.Table              { return crc32.MakeTable(crc32.Castagnoli) }
func lineSum(text []byte) uint32            { return crc32.Checksum(text, castagnoli()) }
func extend(sum uint32, text []byte) uint32 { return crc32.Update(sum, castagnoli(), text) }

// Faults of a line, as stored.
const (
	faultNoJSON = iota + 1
	faultNoObject
	faultTooLong
)

func faultText(code int64) string {
	switch code {
	case faultNoObject:
		return "the line is JSON but not an object"
	case faultTooLong:
		return "the line has more than 16 MiB"
	}
	return "the line is not JSON"
}

// member is a string member of an event; absent if it has none.
type member struct {
	text   []byte // decoded
	absent bool
}

// event is a line that is an object. Its texts are valid as long as the line.
type event struct {
	kind, ts, actor, session, visibility member
	at                                   int64
	hasAt                                bool
	mono                                 int64
	hasMono                              bool
	payload                              []byte // raw, nil if absent
}

// parse parses an event, or returns the fault of the line. Of duplicate members
// the last counts.
func (e *event) parse(line []byte) (fault int) {
	none := member{absent: true}
	*e = event{kind: none, ts: none, actor: none, session: none, visibility: none}
	err := canonjson.Members(line, func(m canonjson.Member) {
		switch string(m.Key) {
		case "type":
			e.kind = textOf(m.Value)
		case "ts_wallclock":
			e.ts = textOf(m.Value)
		case "actor":
			e.actor = textOf(m.Value)
		case "session_ref":
			e.session = textOf(m.Value)
		case "visibility":
			e.visibility = textOf(m.Value)
		case "payload":
			e.payload = m.Value
		case "ts_monotonic_ms":
			e.mono, e.hasMono = numberOf(m.Value)
		}
	})
	switch {
	case errors.Is(err, canonjson.ErrNoObject):
		return faultNoObject
	case err != nil:
		return faultNoJSON
	}
	if e.kind.absent {
		e.kind = member{text: []byte("unknown")}
	}
	if !e.ts.absent {
		e.at, e.hasAt = stampOf(e.ts.text)
	}
	return 0
}

func textOf(value []byte) member {
	if value[0] != '"' {
		return member{absent: true}
	}
	if body := value[1 : len(value)-1]; bytes.IndexByte(body, '\\') < 0 {
		return member{text: body}
	}
	return member{text: []byte(canonjson.Unquote(value))}
}

// numberOf is the integer part of a number that an int64 can hold.
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

// stampOf reads a timestamp; those that ac writes bypass the general parser.
func stampOf(text []byte) (ns int64, ok bool) {
	if len(text) == 24 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == '.' && text[23] == 'Z' {
		y, ok1 := digits(text[0:4])
		mo, ok2 := digits(text[5:7])
		d, ok3 := digits(text[8:10])
		h, ok4 := digits(text[11:13])
		mi, ok5 := digits(text[14:16])
		s, ok6 := digits(text[17:19])
		f, ok7 := digits(text[20:23])
		// The general parser handles the last days of a month, and distant
		// years.
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
