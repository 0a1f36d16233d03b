package acecode

// Tests of texts that a listener queued but did not deliver before it died, though their session
// lives.

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
)

// leave queues a text as a listener does that finds no session and then dies.
func (s *stage) leave(id, text, client string) {
	s.T.Helper()
	w := dialecttest.Must(workspace.Open(workspace.SystemEnv(), s.Dir))
	run := dialecttest.Must(runs.Load(w, s.Project, id))
	_, draft, err := session.QueueText(w, run, session.SteerRequest{Text: text, Mode: session.ModeAfterTurn, Actor: "human", ClientMessageID: client})
	if err == nil {
		err = w.Append(s.T.Context(), workspace.LogFile(s.Project, id), draft)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		s.T.Fatal(err)
	}
}

// TestTakenUpByTheLiving checks that the next listener delivers such a text.
func TestTakenUpByTheLiving(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("hello there")
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Done")
	s.End()
	s.leave(id, "left behind", "")
	s.open()
	c = s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Message", `"role":"assistant"`, "you said: left behind")
}

// TestSaidAgainToTheLiving checks that such a text is delivered only once if its client sends it
// again.
func TestSaidAgainToTheLiving(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("hello there")
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Done")
	s.leave(id, "left behind", "mine")
	s.want(http.StatusAccepted, "POST", "/api/sessions/"+id+"/messages", `{"text":"left behind","client_message_id":"mine"}`, nil)
	c.await("Message", `"role":"assistant"`, "you said: left behind")
	c.await("Done")
	log := dialecttest.Must(os.ReadFile(filepath.Join(s.Dir, workspace.LogFile(s.Project, id))))
	if n := strings.Count(string(log), `"type":"run.steer_queued","payload":`); n != 2 { // with the first text
		t.Errorf("%d texts were kept", n)
	}
}
