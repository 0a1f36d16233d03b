package session

// Ends that could not be recorded, as on a full disk: why, for the next reader of
// the record. It lies beside the socket, since the workspace took nothing more.

import (
	"errors"
	"io"
	"os"
	"strings"

	"ac/workspace/doc"
)

// maxReason bounds the reason, in bytes.
const maxReason = 4 << 10

// reasonFile is where the supervisor of a record leaves its reason.
func reasonFile(record doc.Session) (string, error) {
	socket, err := socketOf(record)
	return strings.TrimSuffix(socket, ".sock") + ".why", err
}

// leaveReason keeps why the end could not be recorded, where there is a record that
// a reader will find without its end: none is left of a workspace that was removed.
// It adds to that error when this cannot be kept either.
func (s *supervisor) leaveReason(cause error) error {
	told, err := Read(s.w, s.order.SessionRef)
	if err != nil || s.socket == nil || told.Socket != s.socket.name {
		return cause // nobody would look for the reason
	}
	file, err := reasonFile(told)
	if err == nil {
		text := s.secrets.String(cause.Error())
		err = os.WriteFile(file, []byte(text[:min(len(text), maxReason)]), 0o600)
	}
	return errors.Join(cause, err)
}

// unrecordedReason reads what the dead supervisor of a record left, "" for nothing.
func unrecordedReason(record doc.Session) string {
	file, err := reasonFile(record)
	if err != nil {
		return ""
	}
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxReason))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
