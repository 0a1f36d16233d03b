package session

// Ends that could not be recorded, as on a full disk: why, for the next reader of
// the record. It lies beside the socket, since the workspace took nothing more.

import (
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

// LeaveUnrecorded keeps for the next reader of a record why its end could not be recorded.
func LeaveUnrecorded(record doc.Session, reason string) error {
	file, err := reasonFile(record)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(reason[:min(len(reason), maxReason)]), 0o600)
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
