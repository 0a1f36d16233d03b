package usage

// Codex's own record of a conversation. Codex exec prints its usage only at the
// end of a turn, so that a stopped one prints none. Its rollout file
// (sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl below CODEX_HOME)
// has the usage of each answer as it comes.

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

// CodexHome is the folder of codex's own files, in an environment.
func CodexHome(get func(name string) string) string {
	return cmp.Or(get("CODEX_HOME"), filepath.Join(get("HOME"), ".codex"))
}

// Rollout is the sum of the usage of a codex conversation since an instant,
// from the rollout files in the folder home, including those of its sub-agents,
// which have files of their own. ok is false if there is no such conversation,
// or no usage in it. Codex may still be writing these files.
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

// rollouts lists the files that a conversation may have written to since an
// instant. Its own is in the folder of the day on which it began, which its id
// contains (UUID version 7, RFC 9562); those of sub-agents are in later ones.
// Folders of other days are not read: there may be years of them.
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
		entries, _ := fs.ReadDir(root.FS(), day) // a file among the folders has no entries
		for _, entry := range entries {
			if fits, _ := path.Match("rollout-*.jsonl", entry.Name()); fits { // the pattern is valid
				names = append(names, path.Join(day, entry.Name()))
			}
		}
	}
	return names
}

// dayOf is the folder of the day that many days from an instant. Codex names
// days by local time, which may be a day off.
func dayOf(at time.Time, days int) string { return at.AddDate(0, 0, days).UTC().Format("2006/01/02") }

// metaBytes bounds where the first line of a rollout names its session.
const metaBytes = 4 << 10

// begunBy reports whether a rollout is that of a sub-agent of a conversation.
func begunBy(root *os.Root, name, conversation string) bool {
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return false // opening a FIFO may block forever
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, metaBytes))
	return err == nil && bytes.Contains(head, []byte(`"session_id":"`+conversation+`"`))
}

// rollout adds the answers in one file.
func (s *steps) rollout(root *os.Root, name string, since time.Time) (r Report, ok bool) {
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return r, false // opening a FIFO may block forever
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

// record adds the usage in a line of a rollout.
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
