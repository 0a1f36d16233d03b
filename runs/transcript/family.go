package transcript

// The family of an agent, from its driver or its first lines, and the output of agents without a
// known family.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ac/internal/clip"
	"ac/internal/terminal"
	"ac/runs/failure"
)

// Drivers whose family needs no detection.
const (
	DriverCodex  = "codex"
	DriverClaude = "claude"
	DriverACP    = "acp"
)

const (
	// maxSniffs bounds the JSON lines checked for their family. Agents show it in the first ones.
	maxSniffs = 1000
	// maxProse bounds a message of plain text, in bytes.
	maxProse = 64 << 10
	// maxNotice bounds the stderr text in one notice, in bytes.
	maxNotice = 4 << 10
)

// probe holds the members that distinguish the families.
type probe struct {
	Type      string          `json:"type"`
	Method    string          `json:"method"`
	JSONRPC   string          `json:"jsonrpc"`
	SessionID string          `json:"sessionID"`
	Session   string          `json:"session_id"`
	Part      json.RawMessage `json:"part"`
	Response  json.RawMessage `json:"response"`
	Stats     json.RawMessage `json:"stats"`
	Error     json.RawMessage `json:"error"`
	Role      string          `json:"role"`
	Subtype   string          `json:"subtype"`
	ID        json.RawMessage `json:"id"`
	Result    json.RawMessage `json:"result"`
}

// sniff sets the decoder if the line reveals the family.
func (s *Session) sniff(line []byte) {
	var p probe
	if json.Unmarshal(line, &p) != nil {
		return
	}
	switch {
	case p.JSONRPC != "":
		if p.speaksACP() {
			s.setDecoder(&acp{})
		}
	case p.Method != "" || (len(p.ID) > 0 && len(p.Result) > 0 && p.Type == ""):
		s.setDecoder(&appServer{})
	case strings.HasPrefix(p.Type, "thread.") || strings.HasPrefix(p.Type, "item.") || strings.HasPrefix(p.Type, "turn."):
		s.setDecoder(&codexExec{})
	case p.SessionID != "" && (len(p.Part) > 0 || p.Type == "error"):
		s.setDecoder(&openCode{})
	case p.Type == "init" || (p.Type == "message" && p.Role != "") || (p.Type == "result" && p.Subtype == "" && len(p.Stats) > 0):
		s.setDecoder(&geminiStream{})
	case slices.Contains([]string{"system", "assistant", "user", "result", "stream_event", "control_request", "control_response", "command_lifecycle"}, p.Type):
		s.setDecoder(&claude{})
	case p.Type == "" && (bytes.HasPrefix(p.Response, []byte(`"`)) || p.Session != "" && len(p.Error) > 0):
		s.setDecoder(&wholeOutput{})
	}
}

// speaksACP distinguishes the agent's side of ACP from other JSON-RPC protocols.
func (p probe) speaksACP() bool {
	if strings.HasPrefix(p.Method, "session/") {
		return true
	}
	var result struct {
		Version      json.RawMessage `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"agentCapabilities"`
		Session      string          `json:"sessionId"`
	}
	if json.Unmarshal(p.Result, &result) != nil {
		return false
	}
	return result.Session != "" || len(result.Version) > 0 && len(result.Capabilities) > 0
}

// text handles a line that is not a message. It ignores the line if the agent's family is known.
func (s *Session) text(line []byte) {
	if s.decoder == nil && !s.hold(line) {
		s.say(line)
	}
}

// say adds a line to the plain-text message.
func (s *Session) say(line []byte) {
	if !s.isProseOpen() && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	for rest := string(line) + "\n"; rest != ""; {
		piece := clip.Head(rest, maxProse)
		if s.isProseOpen() && len(s.prose.Text)+len(piece) > maxProse {
			s.close(s.prose)
		}
		if !s.isProseOpen() {
			s.prose = s.open(Item{Kind: KindMessage, Role: RoleAssistant})
		}
		s.append(s.prose, piece)
		rest = rest[len(piece):]
	}
}

// isProseOpen reports whether a plain-text message is open.
func (s *Session) isProseOpen() bool { return s.prose != nil && s.prose.State == StateOpen }

// endProse closes the plain text before an agent's first message.
func (s *Session) endProse() {
	if s.prose != nil {
		s.close(s.prose)
		s.prose = nil
	}
}

// errorLine handles a line of stderr. It keeps the tail, and shows lines other than the agent's
// JSON log as notices.
func (s *Session) errorLine(line []byte) {
	s.stderr = strings.Clone(clip.Tail(s.stderr+string(line)+"\n", failure.MaxWords))
	if line[0] == '{' && json.Valid(line) {
		return
	}
	text := terminal.Plain(string(line))
	if text == "" {
		return
	}
	text = clip.Head(text, maxNotice)
	if n := len(s.items); n > 0 {
		last := s.items[n-1]
		if last.Kind == KindNotice && last.Role == RoleSystem && len(last.Text)+len(text) < maxNotice {
			s.append(last, "\n"+text)
			return
		}
	}
	s.open(Item{Kind: KindNotice, Role: RoleSystem, Text: text})
}
