package doc

// The log of an agent's mistakes.

import (
	"ac/internal/shape"
	"ac/internal/yamldoc"
)

// MistakeLog is org/agents/<id>/mistakes.yaml. Its entries stay unparsed, to preserve what
// other programs add to them. MistakeEntryCodec decodes one entry.
type MistakeLog struct {
	SchemaVersion int      `json:"schema_version" is:"min=1"`
	Type          string   `json:"type" is:"enum=agent_mistake_log"`
	AgentID       string   `json:"agent_id"`
	UpdatedAt     string   `json:"updated_at"`
	Entries       []Opaque `json:"entries"`
}

// MistakeEntry is one kind of mistake.
type MistakeEntry struct {
	Key            string   `json:"key"`
	Count          int64    `json:"count" is:"min=0"`
	LastSeenAt     string   `json:"last_seen_at"`
	Summary        string   `json:"summary"`
	PreventionRule string   `json:"prevention_rule"`
	Observations   []Opaque `json:"observations"`
}

// MistakeObservation is one occurrence of a mistake.
type MistakeObservation struct {
	At                  string   `json:"at"`
	ObservedBy          string   `json:"observed_by"`
	ProjectID           string   `json:"project_id" is:"optional"`
	RunID               string   `json:"run_id" is:"optional"`
	TaskID              string   `json:"task_id" is:"optional"`
	MilestoneID         string   `json:"milestone_id" is:"optional"`
	EvidenceArtifactIDs []string `json:"evidence_artifact_ids"`
}

// maxObservations bounds the observations kept of a mistake. The newest stay.
const maxObservations = 20

// The codecs of the log.
var (
	MistakeLogCodec         = yamldoc.For[MistakeLog]()
	MistakeEntryCodec       = yamldoc.For[MistakeEntry]()
	MistakeObservationCodec = yamldoc.For[MistakeObservation]()
)

// Mistake is a mistake to record.
type Mistake struct {
	Key, Summary, PreventionRule string
	Observation                  MistakeObservation
}

// indexOf returns the index of a mistake's entry, -1 if there is none.
func (l *MistakeLog) indexOf(key string) int {
	for i := range l.Entries {
		if k := l.Entries[i].Get("key"); k.Kind == shape.String && k.Text == key {
			return i
		}
	}
	return -1
}

// Observe counts a mistake and returns its new count. It returns an error if the existing
// entry is invalid. The log must then not be written.
func (l *MistakeLog) Observe(m Mistake) (count int64, err error) {
	at := l.indexOf(m.Key)
	entry := MistakeEntry{Key: m.Key}
	if at >= 0 {
		if entry, err = MistakeEntryCodec.Bind(&l.Entries[at]); err != nil {
			return 0, err
		}
	}
	observed, err := opaque(MistakeObservationCodec, m.Observation)
	if err != nil {
		return 0, err
	}
	entry.Count++
	entry.LastSeenAt, entry.Summary, entry.PreventionRule = m.Observation.At, m.Summary, m.PreventionRule
	entry.Observations = append(entry.Observations, observed)
	entry.Observations = entry.Observations[max(0, len(entry.Observations)-maxObservations):]
	fresh, err := opaque(MistakeEntryCodec, entry)
	if err != nil {
		return 0, err
	}
	if at < 0 {
		l.Entries = append(l.Entries, fresh)
		return entry.Count, nil
	}
	for i, key := range l.Entries[at].Keys {
		if fresh.Get(key).Kind == shape.Absent { // a field of another program
			fresh.Keys, fresh.Items = append(fresh.Keys, key), append(fresh.Items, l.Entries[at].Items[i])
		}
	}
	l.Entries[at] = fresh
	return entry.Count, nil
}

// opaque converts a document into a value.
func opaque[T any](codec yamldoc.Codec[T], document T) (Opaque, error) {
	text, err := codec.Encode(document)
	if err != nil {
		return Opaque{}, err
	}
	return yamldoc.Parse(text)
}
