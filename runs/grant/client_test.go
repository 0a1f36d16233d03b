package grant

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"ac/runs/interaction"
)

// broken returns a client whose supervisor answers one request with each of results, and no
// requests after those.
func broken(t *testing.T, results ...string) *Client {
	t.Helper()
	ours, theirs := net.Pipe()
	c := &Client{conn: ours, gone: make(chan struct{}), waiting: map[int]*exchange{}, questions: map[string]*questionState{}}
	c.read.Go(c.listen)
	served := make(chan struct{})
	go func() {
		defer close(served)
		requests := bufio.NewScanner(theirs)
		for i, result := range results {
			if !requests.Scan() {
				return
			}
			if _, err := fmt.Fprintf(theirs, "{\"version\":2,\"id\":%d,\"result\":%s}\n", i+1, result); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, theirs) // until the client closes
	}()
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), theirs.Close()); err != nil {
			t.Error(err)
		}
		<-served
	})
	return c
}

// TestBrokenAnswers checks that an answer that is not a question's record fails its own Ask,
// and that later questions still work.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{}`, `{"state":"open"}`, `7`, `{"interaction_id":"int_1","title":7}`} {
		c := broken(t, result, `{"interaction_id":"int_2","state":"answered"}`)
		if record, err := c.Ask(t.Context(), Ask{Question: Question{Text: "q"}}); err == nil {
			t.Errorf("%s: %+v", result, record)
		}
		if record, err := c.Ask(t.Context(), Ask{Question: Question{Text: "q"}}); err != nil || record.InteractionID != "int_2" || record.State != interaction.Answered {
			t.Errorf("after %s: %+v %v", result, record, err)
		}
		if len(c.waiting) != 0 {
			t.Errorf("%s: %d requests wait", result, len(c.waiting))
		}
	}
}

// TestCallGivenUp checks that the client forgets a call once its caller has given up.
func TestCallGivenUp(t *testing.T) {
	t.Parallel()
	c := broken(t)
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(soon, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) != 0 {
		t.Errorf("%d requests wait", len(c.waiting))
	}
}
