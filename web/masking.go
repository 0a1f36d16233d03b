package web

// Masking: the server masks secrets in what agents wrote, unless a manager asks for the plain text.

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

// masksResult reports whether this server masks the result of a method. It masks those of all
// reading methods except three kinds: methods that mask themselves, results masked before they were
// stored, and settings, which people change and write back.
func (s *Server) masksResult(method string) bool {
	switch method {
	case "room.read", "search.query", "heartbeat.config.get", "run.policy.get", "policy.defaults.get":
		return false
	}
	return slices.Contains(readable(), method) && !slices.Contains(s.table.Params(method), "mask")
}

// mayUnmask refuses a client that asks for plain text. Only the user of this server may, in a role
// other than worker.
func (s *Server) mayUnmask(r *http.Request) error {
	if s.opts.Actor.ActorRole == "worker" {
		return fault.New(fault.Denied, "what is masked is shown to managers only")
	}
	if refused := s.guard.CheckPeer(r); refused != nil {
		return fault.New(fault.OtherUser, "%s", refused.Message)
	}
	return nil
}

// masks returns whether to mask the result of a call. It removes the param mask for methods that do
// not have it.
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

// maskResult returns a result with its texts masked.
func maskResult(result any) (any, error) {
	text, err := rpc.Encode(result)
	if err != nil {
		return nil, err
	}
	masked, err := redact.NewRedactor(nil).JSON(nil, text)
	return json.RawMessage(masked), err
}

// streamMask masks what a stream sends. A nil streamMask masks nothing. It is not safe for
// concurrent use.
type streamMask struct {
	redactor *redact.Redactor
	lines    map[string]*growingLine // by item and field
}

// maskOf returns the mask of a stream, nil if the client asks for plain text and may see it.
func (s *Server) maskOf(r *http.Request, query url.Values) (*streamMask, error) {
	if !flagOf(query, "mask", true) {
		return nil, s.mayUnmask(r)
	}
	return newStreamMask(), nil
}

func newStreamMask() *streamMask {
	return &streamMask{redact.NewRedactor(nil), map[string]*growingLine{}}
}

// mark begins the replacement of every masked text.
const mark = "[REDACTED"

// value masks the texts in a JSON value. A value without secrets stays byte for byte.
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

// growingLine is the newest line of a growing text, and the part of it that was sent.
type growingLine struct{ raw, sent string }

// pass masks what is appended to an item. It sends only whole words, because a secret may arrive in
// pieces. The whole item is sent again when it closes. pass reports whether there is anything to
// send.
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

// maxLine is the length in bytes beyond which a line is masked in parts.
const maxLine = 16 << 10

// add appends text, and returns the masked text that may be sent now.
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
		} // else the mask changed sent text: the closed item shows it
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
