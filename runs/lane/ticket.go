package lane

// Tickets: the file of one launch. Its name says all that others need to know,
// so that a lane is read by listing it; granting a launch renames its ticket.
// The content is the request, for people who look.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// How the name of a ticket begins, and how it ends.
const (
	ticketPrefix = "launch-"
	waitingEnd   = ".waiting"
	runningEnd   = ".running"
)

// ticket is a launch in the lane. Read from a name, its provider and team are
// the digests that stand there.
type ticket struct {
	Request
	seq     int64 // its arrival
	name    string
	running bool
}

// newTicket makes the ticket of a launch that waits. Names are never used twice.
func newTicket(r Request, seq int64, unique string) ticket {
	r.Provider, r.Team = digest(r.Provider), digest(r.Team)
	r.Priority = priorities()[rank(r.Priority)]
	name := fmt.Sprintf("%s%016d-%s-%d.%d.%d-%s-%s-%s%s", ticketPrefix, seq, r.Priority,
		r.Limits.Workspace, r.Limits.Provider, r.Limits.Team, r.Provider, r.Team, unique, waitingEnd)
	return ticket{Request: r, seq: seq, name: path.Join(dir, name)}
}

// digest stands for a provider or team, which are free text, in names.
func digest(text string) string {
	sum := sha256.Sum256([]byte(key(text)))
	return hex.EncodeToString(sum[:8])
}

// content is what a ticket tells people.
func content(r Request) ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// running is the name of a ticket once its launch goes on.
func running(name string) string { return strings.TrimSuffix(name, waitingEnd) + runningEnd }

// readTicket reads the name of a ticket. ticketLike tells of a name that is meant
// to be
// one; ok, that it is one.
func readTicket(base string) (t ticket, ticketLike, ok bool) {
	rest, ticketLike := strings.CutPrefix(base, ticketPrefix)
	end := path.Ext(base)
	if !ticketLike || (end != waitingEnd && end != runningEnd) {
		return t, false, false
	}
	t.name, t.running = path.Join(dir, base), end == runningEnd
	parts := strings.Split(strings.TrimSuffix(rest, end), "-")
	if len(parts) != 6 {
		return t, true, false
	}
	seq, err := strconv.ParseInt(parts[0], 10, 64)
	t.seq, t.Priority, t.Provider, t.Team = seq, parts[1], parts[3], parts[4]
	_, scanErr := fmt.Sscanf(parts[2], "%d.%d.%d", &t.Limits.Workspace, &t.Limits.Provider, &t.Limits.Team)
	return t, true, err == nil && scanErr == nil
}
