package budget

// Events that record decisions.

import "ac/events"

// PhasePreflight is the phase of decisions before a launch.
const PhasePreflight = "preflight"

// Events returns the drafts that record decisions: one for each decision, then one for each
// alert, then one for each exceeded threshold. draft builds a draft from a type and a payload.
// phase is "" for decisions after a run.
func Events(
	decisions []Decision, phase string, draft func(kind string, payload any) (events.Draft, error),
) (drafts []events.Draft, err error) {
	add := func(kind string, d Decision) {
		made, draftErr := draft(kind, d)
		drafts = append(drafts, made)
		if err == nil {
			err = draftErr
		}
	}
	for _, d := range decisions {
		d.Phase = phase
		add(events.BudgetDecision, d)
	}
	for _, told := range []struct{ result, kind string }{{Alert, events.BudgetAlert}, {Exceeded, events.BudgetExceeded}} {
		for _, d := range decisions {
			if d.Result == told.result {
				d.Result, d.Phase = "", phase
				add(told.kind, d)
			}
		}
	}
	return drafts, err
}
