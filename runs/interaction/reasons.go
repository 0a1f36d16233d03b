package interaction

// Reasons for refusing an answer.

import "ac/internal/fault"

// NotFound returns the error for an id that no interaction of the run has.
func NotFound(run, id string) error {
	return fault.New(fault.InteractionNotFound, "run %s has no interaction %s", run, id)
}

// Closed returns the error for an answer to an interaction that is not open.
func (r Record) Closed() error {
	return fault.New(fault.InteractionClosed, "interaction %s is %s already", r.InteractionID, r.State).With(struct {
		State      string `json:"state"`
		By         string `json:"by,omitempty"`
		ResolvedAt string `json:"resolved_at"`
	}{r.State, r.By, r.ResolvedAt})
}

func (r Record) mismatch() error {
	return fault.New(fault.InteractionKindMismatch, "interaction %s is of kind %s and takes another answer", r.InteractionID, r.Kind).With(struct {
		Kind string `json:"kind"`
	}{r.Kind})
}
