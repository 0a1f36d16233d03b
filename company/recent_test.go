package company

import (
	"testing"
	"time"
)

// TestRecent: an answer is given again until it is too old, or what it describes changes.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r Recent
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if got := r.Answer("a", at); got != nil {
		t.Errorf("nothing was kept: %v", got)
	}
	r.Keep("a", 1, at)
	r.Keep("b", 2, at.Add(answerLife/2))
	if a, b := r.Answer("a", at.Add(answerLife-1)), r.Answer("b", at.Add(answerLife)); a != 1 || b != 2 {
		t.Errorf("kept a moment ago: %v, %v", a, b)
	}
	if got := r.Answer("a", at.Add(answerLife)); got != nil {
		t.Errorf("too old: %v", got)
	}
	if r.Keep("c", 3, at.Add(answerLife)); len(r.known) != 2 {
		t.Errorf("the one that is too old is still held: %v", r.known)
	}
	r.forget()
	if b, c := r.Answer("b", at.Add(answerLife)), r.Answer("c", at.Add(answerLife)); b != nil || c != nil {
		t.Errorf("forgotten: %v, %v", b, c)
	}
}
