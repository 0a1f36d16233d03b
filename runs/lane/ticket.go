package lane

// Tickets: the file of one launch. Its name contains everything the queue
// needs, so that a lane is read by listing a directory; granting a launch
// renames its ticket. The content is the request, for people.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Prefix and suffixes of ticket names.
const (
	ticketPrefix = "launch-"
	waitingEnd   = ".waiting"
	runningEnd   = ".running"
)

// ticket is a launch in the queue. Read from a name, its provider and team are
// the digests in that name.
type ticket struct {
	Request
	seq     int64 // its arrival
	name    string
	running bool
}

// newTicket makes the ticket of a waiting launch. Names are unique.
func newTicket(r Request, seq int64, unique string) ticket {
	r.Provider, r.Team = digest(r.Provider), digest(r.Team)
	r.Priority = priorities()[rank(r.Priority)]
	name := fmt.Sprintf("%s%016d-%s-%d.%d.%d-%s-%s-%s%s", ticketPrefix, seq, r.Priority,
		r.Limits.Workspace, r.Limits.Provider, r.Limits.Team, r.Provider, r.Team, unique, waitingEnd)
	return ticket{Request: r, seq: seq, name: path.Join(dir, name)}
}

// digest stands for a provider or team, which are free text, in ticket names.
func digest(text string) string {
	sum := sha256.Sum256([]byte(key(text)))
	return hex.EncodeToString(sum[:8])
}

// content is the content of a ticket.
func content(r Request) ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// running is the name of a granted ticket.
func running(name string) string { return strings.TrimSuffix(name, waitingEnd) + runningEnd }

// readTicket parses the name of a ticket. ticketLike reports that a name has
// the form of one, ok that it is valid.
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
