// Package needs defines what waits for a person: requests of agents, items to decide, help
// requests, and runs that went wrong. It records which needs of the last kind were dismissed.
package needs

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/interaction"
)

// Kinds of needs.
const (
	Permission = interaction.Permission
	Question   = interaction.Question
	Plan       = interaction.Plan
	Input      = interaction.Input
	Help       = "help"
	Milestone  = "milestone"
	Memory     = "memory"
	Action     = "action"
	Files      = "files"
	RunFailed  = "run_failed"
	OverBudget = "over_budget"
	// Unreachable: the session is on another machine that has been silent for long.
	Unreachable = "unreachable"
	BrokenLog   = "broken_log"
)

// Kinds lists all kinds of needs.
func Kinds() []string {
	return append(DecisionKinds(), RunFailed, OverBudget, Unreachable, BrokenLog)
}

// DecisionKinds lists the kinds that wait for a person's decision or answer. Of the others, all except
// Unreachable can be dismissed.
func DecisionKinds() []string {
	return []string{Permission, Question, Plan, Input, Help, Milestone, Memory, Action, Files}
}

// Groups of needs. The same actions apply to all needs of a group.
const (
	GroupAsks     = "interaction"
	GroupHelp     = "help"
	GroupArtifact = "artifact"
	GroupRun      = "run"
)

// kindInfo is how needs of a kind are named, ordered and grouped.
type kindInfo struct {
	prefix   string // of their ids
	severity int
	group    string
}

func infoOf(kind string) kindInfo {
	switch kind {
	case Permission, Question, Plan, Input:
		return kindInfo{"interaction", 0, GroupAsks}
	case Help:
		return kindInfo{Help, 1, GroupHelp}
	case Milestone:
		return kindInfo{Milestone, 1, GroupArtifact}
	case Unreachable:
		return kindInfo{kind, 1, GroupRun}
	case RunFailed, OverBudget:
		return kindInfo{kind, 2, GroupRun}
	case BrokenLog:
		return kindInfo{kind, 4, GroupRun}
	}
	return kindInfo{kind, 3, GroupArtifact}
}

// Need is one thing that waits. Severity is 0 for an agent that asks and waits, 1 for blocked
// work, 2 for failures, 3 for decisions, and 4 for information.
type Need struct {
	NeedID    string `json:"need_id"`
	Kind      string `json:"kind"`
	ProjectID string `json:"p"` // "" for help requests of the whole workspace
	Title     string `json:"title"`
	Who       string `json:"who,omitempty"` // the agent or person that asks
	RunID     string `json:"run,omitempty"`
	At        string `json:"at"`
	ExpiresAt string `json:"expires_at,omitempty"`
	Severity  int    `json:"sev"`
	Group     string `json:"group"`

	// Faults is how many faults a broken log has. A dismissal covers that many.
	Faults int64 `json:"-"`
}

// New creates a need of a kind. ref is the id of its subject, followed by the session's number
// for a failure. The title becomes one line.
func New(kind, ref, title string) Need {
	o := infoOf(kind)
	return Need{NeedID: o.prefix + ":" + ref, Kind: kind, Title: Line(title), Severity: o.severity, Group: o.group}
}

// Ref returns the id of a need's subject: the need's own id without the prefix.
func (n Need) Ref() string { return RefOf(n.NeedID) }

// RefOf returns the id of the subject of a need id.
func RefOf(needID string) string {
	_, ref, _ := strings.Cut(needID, ":")
	return ref
}

// CheckID returns an error for texts that cannot be the id of a need.
func CheckID(field, needID string) error {
	prefix, ref, ok := strings.Cut(needID, ":")
	known := slices.ContainsFunc(Kinds(), func(kind string) bool { return infoOf(kind).prefix == prefix })
	if !ok || !known || ref == "" || len(needID) > maxID {
		return fault.InvalidField(field, "must be the id of a need, such as memory:art_… or run_failed:run_…:1")
	}
	return nil
}

// maxID bounds ids of needs, in bytes.
const maxID = 300

// Dismissible reports whether needs with an id of this kind can be dismissed.
func Dismissible(needID string) bool {
	prefix, _, _ := strings.Cut(needID, ":")
	return prefix == RunFailed || prefix == OverBudget || prefix == BrokenLog
}

// Sort orders needs by severity, then oldest first.
func Sort(list []Need) { slices.SortFunc(list, Compare) }

// Compare compares needs in the order of lists.
func Compare(a, b Need) int {
	at, _ := clock.Parse(a.At)
	bt, _ := clock.Parse(b.At)
	return cmp.Or(cmp.Compare(a.Severity, b.Severity), at.Compare(bt), cmp.Compare(a.NeedID, b.NeedID))
}

// MostLine bounds the texts of rows, in characters.
const MostLine = 160

// Line converts a text for a row: one line of at most MostLine characters, with secrets masked
// and control characters removed.
func Line(text string) string {
	if len(text) > 8*MostLine { // do not mask text that will be truncated
		text = text[:8*MostLine]
	}
	text = redact.NewRedactor(nil).Text(strings.ToValidUTF8(text, "\uFFFD"))
	var b strings.Builder
	n, blank := 0, false
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' || unicode.IsSpace(r) {
			blank = n > 0
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			continue
		}
		if blank {
			b.WriteByte(' ')
			n, blank = n+1, false
		}
		if n++; n >= MostLine {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ")
}
