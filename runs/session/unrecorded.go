package session

// Reasons why an end could not be recorded, for example a full disk, for the next reader of the
// record. They are stored beside the socket, because the workspace accepted no write.

import (
	"io"
	"os"
	"strings"

	"ac/workspace/doc"
)

// maxReason bounds the reason, in bytes.
const maxReason = 4 << 10

// reasonFile returns the path where a record's supervisor leaves its reason.
func reasonFile(record doc.Session) (string, error) {
	socket, err := socketOf(record)
	return strings.TrimSuffix(socket, ".sock") + ".why", err
}

// StoreUnrecordedReason stores why a record's end could not be recorded, for its next reader.
func StoreUnrecordedReason(record doc.Session, reason string) error {
	file, err := reasonFile(record)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(reason[:min(len(reason), maxReason)]), 0o600)
}

// unrecordedReason reads what a record's dead supervisor left, "" for nothing.
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
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxReason))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
