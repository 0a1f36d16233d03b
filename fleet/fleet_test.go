package fleet_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/fault"
)

const (
	hubID    = "abcdefgh23"
	workerID = "wkr_01M7WQGTR95SV6EDMA61E1XR8M"
)

func newKey(t *testing.T) fleet.Key {
	t.Helper()
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAttemptsAreNamedAfterTheirSession(t *testing.T) {
	t.Parallel()
	a := fleet.Attempt("project", "run", "ref", 2)
	if !fleet.IsAttempt(a) || fleet.Epoch(a) != 2 {
		t.Errorf("%s is no attempt of epoch 2", a)
	}
	if b := fleet.Attempt("projec", "trun", "ref", 2); a == b {
		t.Error("two sessions have one attempt")
	}
	for _, text := range []string{"", "../../../../../../x-1", a + "0000000", strings.Replace(a, "-2", "-0", 1), a + "\n"} {
		if fleet.IsAttempt(text) || fleet.Epoch(text) != 0 {
			t.Errorf("%q is taken for an attempt", text)
		}
	}
}

func TestSubjectsNameTheirWorker(t *testing.T) {
	t.Parallel()
	s := fleet.Subjects{Hub: hubID}
	attempt := fleet.Attempt("p", "r", "s", 1)
	kind, worker, rest, err := s.Parse(s.Tell(workerID, attempt, fleet.TellStop))
	if kind != "tell" || worker != workerID || rest != attempt+"."+fleet.TellStop || err != nil {
		t.Error(kind, worker, rest, err)
	}
	for _, subject := range []string{"", "ac." + hubID + ".draft.x.y", "ac.other.draft." + workerID + ".x", s.Draft(workerID, "")} {
		if _, _, _, err := s.Parse(subject); err == nil {
			t.Errorf("%q was understood", subject)
		}
	}
}

func TestSignaturesHoldForTheirSubjectAndBody(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	again, err := fleet.ParseKey(key.Seed())
	if err != nil || again.Public() != key.Public() {
		t.Fatal(err)
	}
	sum := again.Sign("a.b", []byte("c"))
	if !fleet.Verify(key.Public(), "a.b", []byte("c"), sum) {
		t.Error("its own signature is refused")
	}
	for _, c := range [][4]string{
		{key.Public(), "a", "b\nc", sum}, {key.Public(), "a.b", "d", sum}, {newKey(t).Public(), "a.b", "c", sum},
		{key.Public(), "a.b", "c", ""}, {"", "a.b", "c", sum}, {key.Seed(), "a.b", "c", sum},
	} {
		if fleet.Verify(c[0], c[1], []byte(c[2]), c[3]) {
			t.Errorf("accepted: %q", c)
		}
	}
	seed := key.Seed()
	if _, err := fleet.ParseKey(seed[:20] + "A" + seed[21:]); err == nil && seed[20] != 'A' {
		t.Error("a damaged seed was read")
	}
}

func TestTokensAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	token := fleet.Token{
		Hub: hubID, Worker: workerID, URLs: []string{"tls://127.0.0.1:4222"}, Fingerprint: strings.Repeat("0", 64),
		HubKey: newKey(t).Public(), Seed: newKey(t).Seed(), Expires: time.Now().Add(time.Hour).Unix(),
	}
	got, err := fleet.ParseToken(" " + token.String() + "\n")
	if err != nil || got.String() != token.String() {
		t.Fatal(got, err)
	}
	text := token.String()
	for _, bad := range []string{"", "acw1_", "acw2_" + text[5:], text[:len(text)-9], text[:30] + "!" + text[31:]} {
		if _, err := fleet.ParseToken(bad); !fault.Is(err, fault.InvalidParams) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestSettingsGoTogether(t *testing.T) {
	t.Parallel()
	if err := fleet.Defaults().Check(); err != nil {
		t.Error(err)
	}
	if err := fleet.Defaults().Over(fleet.Settings{BeatMS: 10_000}).Check(); err == nil {
		t.Error("two beats until a worker counts as away")
	}
	s := fleet.Defaults()
	if got := s.FenceAfter(10_000); got != 10_100*time.Second {
		t.Error(got)
	}
	if got := s.FenceAfter(10); got != 40*time.Second {
		t.Error(got)
	}
}
