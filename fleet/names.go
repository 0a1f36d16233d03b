package fleet

// Names of attempts, subjects, objects and labels.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

// Attempt returns the id of one placement of a session.
func Attempt(project, run, sessionRef string, epoch int) string {
	sum := sha256.Sum256([]byte(project + "\x00" + run + "\x00" + sessionRef))
	return hex.EncodeToString(sum[:8]) + "-" + strconv.Itoa(epoch)
}

var (
	attemptForm = lazyregexp.New(`^[0-9a-f]{16}-[1-9][0-9]{0,5}$`)
	hubForm     = lazyregexp.New(`^[a-z2-7]{10}$`)
	objectForm  = lazyregexp.New(`^(src|ctx|out|wt|draft)-[0-9a-f]{64}$`)
	plainForm   = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
)

// MaxLabels is the maximum number of labels of a worker.
const MaxLabels = doc.MaxLabels

// IsAttempt reports whether a text is the id of an attempt. Such an id is safe as a file name.
func IsAttempt(text string) bool { return attemptForm().MatchString(text) }

// IsWorker reports whether a text is the id of a worker. Such an id is safe as a file name.
func IsWorker(text string) bool { return doc.IsWorker(text) }

// IsHub reports whether a text is the id of a hub.
func IsHub(text string) bool { return hubForm().MatchString(text) }

// IsObject reports whether a text is the name of an object.
func IsObject(text string) bool { return objectForm().MatchString(text) }

// IsLabel reports whether a text is a label of a worker.
func IsLabel(text string) bool { return doc.IsLabel(text) }

// IsName reports whether a text may be the name of a worker. The id of a worker may not.
func IsName(text string) bool { return doc.IsWorkerName(text) }

// Epoch returns the epoch of an attempt, or 0 if the text is not an attempt's id.
func Epoch(attempt string) int {
	if !IsAttempt(attempt) {
		return 0
	}
	n, err := strconv.Atoi(attempt[17:])
	if err != nil {
		return 0
	}
	return n
}

// Kinds of objects.
const (
	ObjectSource   = "src"   // a Git bundle of a repository
	ObjectContext  = "ctx"   // files for the provider
	ObjectOutputs  = "out"   // a tar of the files that the provider left
	ObjectWorktree = "wt"    // a Git bundle of the run's branch
	ObjectDraft    = "draft" // the payload of a draft that is too long for a batch
)

// ObjectName returns the name of an object: its kind and the SHA-256 of its bytes in hexadecimal.
func ObjectName(kind, digest string) string { return kind + "-" + digest }

// Subjects builds the subjects of one hub.
type Subjects struct{ Hub string }

func (s Subjects) prefix() string { return "ac." + s.Hub + "." }

// Order returns the subject of an order for a worker.
func (s Subjects) Order(worker, attempt string) string {
	return s.prefix() + "order." + worker + "." + attempt
}

// Draft returns the subject on which a worker publishes the batches and the end of an attempt.
func (s Subjects) Draft(worker, attempt string) string {
	return s.prefix() + "draft." + worker + "." + attempt
}

// Ask returns the subject of a request from a worker to the hub.
func (s Subjects) Ask(worker, verb string) string {
	return s.prefix() + "ask." + worker + "." + verb
}

// Tell returns the subject of a message from the hub to a worker. attempt is "" if the message
// concerns no attempt.
func (s Subjects) Tell(worker, attempt, verb string) string {
	if attempt != "" {
		verb = attempt + "." + verb
	}
	return s.prefix() + "tell." + worker + "." + verb
}

// Alive returns the subject on which a starting hub asks whether another one runs.
func (s Subjects) Alive() string { return s.prefix() + "alive" }

// All returns the pattern that matches all subjects of a kind: order, draft, ask or tell.
func (s Subjects) All(kind string) string { return s.prefix() + kind + ".>" }

// Of returns the pattern that matches all subjects of a kind for one worker.
func (s Subjects) Of(kind, worker string) string { return s.prefix() + kind + "." + worker + ".>" }

// Parse splits a subject into kind, worker and rest. It fails if the subject belongs to another
// hub or its worker is not a worker's id.
func (s Subjects) Parse(subject string) (kind, worker, rest string, err error) {
	tail, ours := strings.CutPrefix(subject, s.prefix())
	words := strings.SplitN(tail, ".", 3)
	if !ours || len(words) != 3 || !IsWorker(words[1]) || words[2] == "" {
		return "", "", "", fmt.Errorf("the subject %q is none of this hub", subject)
	}
	return words[0], words[1], words[2], nil
}

// Inbox returns the prefix of the subjects on which a worker receives replies.
func Inbox(worker string) string { return "_INBOX_" + worker }

// Names of a hub's streams and buckets.

// OrdersStream returns the name of the stream of orders.
func (s Subjects) OrdersStream() string { return "AC_" + s.Hub + "_ORDERS" }

// DraftsStream returns the name of the stream of drafts.
func (s Subjects) DraftsStream() string { return "AC_" + s.Hub + "_DRAFTS" }

// Bucket returns the name of a worker's object store.
func (s Subjects) Bucket(worker string) string { return "AC_" + s.Hub + "_" + worker }

// Word returns the name of a project or run as a token of a subject. It hashes names that are not
// valid tokens.
func Word(name string) string {
	if plainForm().MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "x" + hex.EncodeToString(sum[:8])
}

// MessageID returns the id by which the carrier deduplicates batches. A deliberate resend has a
// new generation.
func MessageID(attempt string, first int64, count int, generation int64) string {
	return fmt.Sprintf("%s.%d.%d.%d", attempt, first, count, generation)
}
