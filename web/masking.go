package web

// Masking: no secret leaves the server in what agents wrote, unless a manager asks for it.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ac/feed"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/rpc"
	"ac/runs/transcript"
)

// masksResult reports whether this server masks the result of a method: of all that reads, but
// for what masks itself or was masked before it was kept, and for settings, which people change
// and write back.
func (s *Server) masksResult(method string) bool {
	switch method {
	case "room.read", "search.query", "heartbeat.config.get", "run.policy.get", "policy.defaults.get":
		return false
	}
	return slices.Contains(readable(), method) && !slices.Contains(s.table.Params(method), "mask")
}

// mayUnmask refuses a client that asks for secrets: they are for the user of this server, in a
// role that decides.
func (s *Server) mayUnmask(r *http.Request) error {
	if s.opts.Actor.ActorRole == "worker" {
		return fault.New(fault.Denied, "what is masked is shown to managers only")
	}
	if refused := s.guard.CheckPeer(r); refused != nil {
		return fault.New(fault.OtherUser, "%s", refused.Message)
	}
	return nil
}

// masks reads whether the result of a call is to be masked, and takes the param away from
// methods that do not have it.
func (s *Server) masks(r *http.Request, method string, params map[string]json.RawMessage) (masked bool, err error) {
	here := s.masksResult(method)
	shown := string(bytes.TrimSpace(params["mask"])) == "false"
	if here {
		delete(params, "mask")
	}
	if shown {
		return false, s.mayUnmask(r)
	}
	return here, nil
}

// maskResult is a result with its texts masked.
func maskResult(result any) (any, error) {
	text, err := rpc.Encode(result)
	if err != nil {
		return nil, err
	}
	masked, err := redact.NewRedactor(nil).JSON(nil, text)
	return json.RawMessage(masked), err
}

// streamMask masks what a stream sends, nil for nothing. It is for one goroutine.
type streamMask struct {
	redactor *redact.Redactor
	lines    map[string]*growingLine // by item and field
}

// maskOf is the mask of a stream, none where its client may see what is masked and asks for it.
func (s *Server) maskOf(r *http.Request, query url.Values) (*streamMask, error) {
	if !flagOf(query, "mask", true) {
		return nil, s.mayUnmask(r)
	}
	return newStreamMask(), nil
}

func newStreamMask() *streamMask {
	return &streamMask{redact.NewRedactor(nil), map[string]*growingLine{}}
}

// mark is in every text that something was masked in.
const mark = "[REDACTED"

// value masks the texts in a JSON value. One without secrets stays byte for byte.
func (m *streamMask) value(text []byte) []byte {
	if m == nil {
		return text
	}
	masked, err := m.redactor.JSON(nil, text)
	if err != nil || bytes.Count(masked, []byte(mark)) == bytes.Count(text, []byte(mark)) {
		return text
	}
	return masked
}

// growingLine is the newest line of a text that grows, and what of it was sent.
type growingLine struct{ raw, sent string }

// pass prepares what is appended to an item: only whole words leave, since a secret may come
// in pieces. The item is sent as a whole when it closes. It reports whether anything is left.
func (m *streamMask) pass(n *feed.TranscriptNotification) bool {
	if m == nil {
		return true
	}
	if n.Op != transcript.Append {
		for _, field := range []string{transcript.FieldText, transcript.FieldOutput} {
			delete(m.lines, n.ItemID+"\x00"+field)
			if n.Item != nil {
				delete(m.lines, n.Item.ID+"\x00"+field)
			}
		}
		return true
	}
	key := n.ItemID + "\x00" + n.Field
	line := m.lines[key]
	if line == nil {
		line = &growingLine{}
		m.lines[key] = line
	}
	n.Text = line.add(m.redactor, n.Text)
	return n.Text != ""
}

// maxLine is from how many bytes on a line is masked in parts.
const maxLine = 16 << 10

// add takes text, and returns what of it may be sent now.
func (l *growingLine) add(redactor *redact.Redactor, text string) string {
	var out strings.Builder
	for {
		head, rest, ends := strings.Cut(text, "\n")
		l.raw += head
		ready := l.raw
		if !ends {
			ready = l.raw[:strings.LastIndexAny(l.raw, " \t")+1]
		}
		if masked := redactor.Text(ready); strings.HasPrefix(masked, l.sent) {
			out.WriteString(masked[len(l.sent):])
			l.sent = masked
		} // else more was masked than was sent: the item as a whole shows it
		if ends {
			out.WriteByte('\n')
		}
		if ends || len(l.raw) > maxLine {
			*l = growingLine{}
		}
		if text = rest; !ends {
			return out.String()
		}
	}
}
