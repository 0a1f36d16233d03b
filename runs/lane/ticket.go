package lane

// Tickets: one file per launch. The file name contains everything that the queue needs, so
// reading a lane only takes a directory listing. Granting a launch renames its ticket. The
// file's content is the request, for people to read.

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

// ticket is a launch in the queue. Its provider and team are digests, as in the file name.
type ticket struct {
	Request
	seq     int64 // order of arrival
	name    string
	running bool
}

// newTicket returns the ticket of a waiting launch. unique makes its name unique.
func newTicket(r Request, seq int64, unique string) ticket {
	r.Provider, r.Team = digest(r.Provider), digest(r.Team)
	r.Priority = priorities()[rank(r.Priority)]
	name := fmt.Sprintf("%s%016d-%s-%d.%d.%d-%s-%s-%s%s", ticketPrefix, seq, r.Priority,
		r.Limits.Workspace, r.Limits.Provider, r.Limits.Team, r.Provider, r.Team, unique, waitingEnd)
	return ticket{Request: r, seq: seq, name: path.Join(dir, name)}
}

// digest returns the form of a provider or team, which are free text, in ticket names.
func digest(text string) string {
	sum := sha256.Sum256([]byte(key(text)))
	return hex.EncodeToString(sum[:8])
}

// content returns the content of a ticket file.
func content(r Request) ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// running returns the name of a ticket once granted.
func running(name string) string { return strings.TrimSuffix(name, waitingEnd) + runningEnd }

// readTicket parses the name of a ticket. ticketLike reports whether the name has the form of a
// ticket, ok whether it is valid.
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
