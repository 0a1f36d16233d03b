package company

import (
	"testing"
	"time"
)

// TestRecent checks that a cached answer is returned until it expires or is invalidated.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r Recent
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answer := func(asked string, now time.Time) any {
		known, _ := r.Answer(asked, now)
		return known
	}
	keep := func(asked string, result any, now time.Time) {
		_, keep := r.Answer(asked, now)
		keep(result, now)
	}
	if got := answer("a", at); got != nil {
		t.Errorf("nothing was kept: %v", got)
	}
	keep("a", 1, at)
	keep("b", 2, at.Add(answerLife/2))
	if a, b := answer("a", at.Add(answerLife-1)), answer("b", at.Add(answerLife)); a != 1 || b != 2 {
		t.Errorf("kept a moment ago: %v, %v", a, b)
	}
	if got := answer("a", at.Add(answerLife)); got != nil {
		t.Errorf("too old: %v", got)
	}
	if keep("c", 3, at.Add(answerLife)); len(r.known) != 2 {
		t.Errorf("the one that is too old is still held: %v", r.known)
	}
	_, late := r.Answer("d", at.Add(answerLife))
	r.forget()
	if b, c := answer("b", at.Add(answerLife)), answer("c", at.Add(answerLife)); b != nil || c != nil {
		t.Errorf("forgotten: %v, %v", b, c)
	}
	if late(4, at.Add(answerLife)); answer("d", at.Add(answerLife)) != nil {
		t.Error("a result from before the change is kept after it")
	}
	if keep("d", 5, at.Add(answerLife)); answer("d", at.Add(answerLife)) != 5 {
		t.Error("a result from after the change is not kept")
	}
}
