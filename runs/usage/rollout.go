package usage

// Codex's rollout files. Codex exec prints its usage only at the end of a turn, so a stopped
// turn prints none. Its rollout file (sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl in
// CODEX_HOME) contains the usage of each answer as soon as the answer arrives.

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ac/internal/lazyregexp"
	"ac/internal/shape"
)

// conversationID matches codex's conversation ids.
var conversationID = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// CodexHome returns the directory of codex's own files. get reads an environment variable.
func CodexHome(get func(name string) string) string {
	return cmp.Or(get("CODEX_HOME"), filepath.Join(get("HOME"), ".codex"))
}

// Rollout returns the usage of a codex conversation since an instant. It sums the rollout files
// in home, including the separate files of sub-agents. ok is false if there is no such
// conversation or it has no usage. Codex may still be writing these files.
func Rollout(home, conversation string, since time.Time) (r Report, ok bool) {
	if !conversationID().MatchString(conversation) {
		return r, false
	}
	root, err := os.OpenRoot(filepath.Join(home, "sessions"))
	if err != nil {
		return r, false
	}
	defer root.Close()
	var s steps
	for _, name := range rollouts(root, conversation, since) {
		if !strings.HasSuffix(name, "-"+conversation+".jsonl") && !begunBy(root, name, conversation) {
			continue
		}
		if found, told := s.rollout(root, name, since); told {
			r, ok = found, true
		}
	}
	return r, ok
}

// rollouts lists the files that a conversation may have written to since an instant. The
// conversation's own file is in the directory of the day on which it began, which its id
// contains (UUID version 7, RFC 9562). Files of sub-agents are in directories of later days.
// rollouts does not read other days, because there may be years of them.
func rollouts(root *os.Root, conversation string, since time.Time) (names []string) {
	days, err := fs.Glob(root.FS(), "*/*/*")
	if err != nil {
		return nil
	}
	ms, err := strconv.ParseInt(conversation[:8]+conversation[9:13], 16, 64)
	known := err == nil && conversation[14] == '7'
	began := time.UnixMilli(ms)
	for _, day := range days {
		near := !known || day >= dayOf(began, -1) && day <= dayOf(began, 1)
		if !near && day < dayOf(since, -1) {
			continue
		}
		entries, _ := fs.ReadDir(root.FS(), day) // ignores files among the directories
		for _, entry := range entries {
			if fits, _ := path.Match("rollout-*.jsonl", entry.Name()); fits { // the pattern is valid
				names = append(names, path.Join(day, entry.Name()))
			}
		}
	}
	return names
}

// dayOf returns the directory of the day that is days away from an instant. Codex names days by
// local time, which may differ from UTC by a day.
func dayOf(at time.Time, days int) string { return at.AddDate(0, 0, days).UTC().Format("2006/01/02") }

// metaBytes bounds the part of a rollout's first line that is searched for its session id, in
// bytes.
const metaBytes = 4 << 10

// begunBy reports whether a rollout belongs to a sub-agent of a conversation.
func begunBy(root *os.Root, name, conversation string) bool {
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return false // opening a FIFO could block forever
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, metaBytes))
	return err == nil && bytes.Contains(head, []byte(`"session_id":"`+conversation+`"`))
}

// rollout adds the usage of the answers in one file.
func (s *steps) rollout(root *os.Root, name string, since time.Time) (r Report, ok bool) {
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return r, false // opening a FIFO could block forever
	}
	f, err := root.Open(name)
	if err != nil {
		return r, false
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) <= maxLine && bytes.Contains(line, []byte(`"token_usage_record"`)) {
			if found, told := s.record(line, since); told {
				r, ok = found, true
			}
		}
		if err != nil {
			return r, ok
		}
		line = line[:0]
	}
}

// record adds the usage in one line of a rollout.
func (s *steps) record(line []byte, since time.Time) (r Report, ok bool) {
	v, ok := parse(line)
	if !ok || v.Get("type").Text != "token_usage_record" {
		return r, false
	}
	at, err := time.Parse(time.RFC3339, v.Get("timestamp").Text)
	if err != nil || at.Before(since) {
		return r, false
	}
	payload := v.Get("payload")
	id, counted := payload.Get("response_id"), payload.Get("usage")
	if id.Kind != shape.String || counted.Kind != shape.Map {
		return r, false
	}
	return s.add(id.Text, counted, "token_usage_record")
}
