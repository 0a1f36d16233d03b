package worker

import (
	"testing"

	"ac/fleet"
)

// TestMessagesBehindAHello checks that a message from a new hub process waits for the answer to a
// pending hello. Without a pending hello, the message is refused at once.
func TestMessagesBehindAHello(t *testing.T) {
	t.Parallel()
	w := &Worker{}
	stamp := fleet.Stamp{Boot: "second", Seq: 1}
	if w.acceptStamp(t.Context(), stamp) {
		t.Error("a message of an unknown process was taken")
	}
	over := w.beginHello()
	taken := make(chan bool)
	go func() { taken <- w.acceptStamp(t.Context(), stamp) }()
	w.listenTo("second")
	over()
	if !<-taken {
		t.Error("the message behind the answer was lost")
	}
	if w.acceptStamp(t.Context(), stamp) {
		t.Error("it was taken twice")
	}
	over = w.beginHello()
	go func() { taken <- w.acceptStamp(t.Context(), fleet.Stamp{Boot: "third", Seq: 1}) }()
	over() // the hello was refused
	if <-taken {
		t.Error("a message of a process that did not answer was taken")
	}
}
