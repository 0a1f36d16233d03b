package fleet

// Requests of workers to their hub, and its answers; what the hub tells a worker.

import (
	"encoding/json"
	"errors"

	"ac/internal/fault"
	"ac/runs/provider"
)

// Verbs that workers ask with.
const (
	AskJoin   = "join"
	AskHello  = "hello"
	AskBeat   = "beat"
	AskClaim  = "claim"
	AskObject = "object"
)

// Verbs of what a hub sends to a worker, beside those of a session's socket.
const (
	TellStop   = "stop"
	TellState  = "state"
	TellResend = "resend"
	TellSealed = "sealed"
	TellProbe  = "probe"
	TellDrain  = "drain"
	TellFence  = "fence"
	TellLimits = "limits"
)

// Stamp is in each request, so that none counts twice: Boot names the process that asks
// since it began, and Seq rises.
type Stamp struct {
	Boot string `json:"boot"`
	Seq  int64  `json:"seq"`
}

// Reply is in each answer. Seq is that of the request. A refusal has a reason.
type Reply struct {
	Seq    int64           `json:"seq"`
	Reason string          `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Stamped makes the reply that of a request.
func (r *Reply) Stamped(seq int64) { r.Seq = seq }

// Err is the refusal as an error, nil for an answer that is none.
func (r Reply) Err() error {
	if r.Reason == "" && r.Error == "" {
		return nil
	}
	refusal := &fault.Error{Reason: fault.Reason(r.Reason), Message: r.Error}
	if len(r.Data) > 0 {
		return refusal.With(r.Data)
	}
	return refusal
}

// Refusal makes the reply of an error, with its data.
func Refusal(seq int64, err error) Reply {
	reply := Reply{Seq: seq, Reason: string(fault.ReasonOf(err)), Error: err.Error()}
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Data != nil {
		if text, err := json.Marshal(refusal.Data); err == nil {
			reply.Data = text
		}
	}
	return reply
}

// Join asks to become the worker of an invitation. Signature is that of JoinText by the
// new key, in base64url; the message itself is signed by the invitation's.
type Join struct {
	Stamp
	PublicKey string `json:"public_key"`
	Instance  string `json:"instance"`
	Version   string `json:"version"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Nonce     string `json:"nonce"`
	Signature string `json:"signature"`
}

// JoinText is what the new key of a worker signs.
func JoinText(hub, worker, nonce, publicKey string) []byte {
	return []byte("join\n" + hub + "\n" + worker + "\n" + nonce + "\n" + publicKey)
}

// JoinReply answers Join. The first answer to an empty nonce is a nonce alone, to be
// signed; the second is the worker as the hub knows it.
type JoinReply struct {
	Reply
	Nonce    string   `json:"nonce,omitempty"`
	HubID    string   `json:"hub_id,omitempty"`
	WorkerID string   `json:"worker_id,omitempty"`
	Name     string   `json:"name,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Slots    int      `json:"slots,omitempty"`
	Settings Settings `json:"settings"`
}

// Hello introduces a worker at each connection.
type Hello struct {
	Stamp
	Protocol  [2]int                   `json:"protocol"`
	Orders    [2]int                   `json:"orders"`
	Version   string                   `json:"version"`
	Instance  string                   `json:"instance"`
	OS        string                   `json:"os"`
	Arch      string                   `json:"arch"`
	CPUs      int                      `json:"cpus"`
	Labels    []string                 `json:"labels"`
	Slots     int                      `json:"slots"`
	Providers map[string]ProviderProbe `json:"providers"`
	Secrets   []string                 `json:"secrets"`
	Repos     map[string][]string      `json:"repos"` // commits that its mirrors have
	Attempts  []HelloAttempt           `json:"attempts"`
	NowMS     int64                    `json:"now_ms"`
}

// ProviderProbe is what a worker found of an agent's program.
type ProviderProbe struct {
	Bin     string `json:"bin"`
	Version string `json:"version,omitempty"`
	OK      bool   `json:"ok"`
	Why     string `json:"why,omitempty"`
	// Verdict, About and Abilities are in the answer to a Probe that has a policy.
	Verdict   *Verdict             `json:"verdict,omitempty"`
	About     *provider.Provenance `json:"about,omitempty"`
	Abilities *provider.Abilities  `json:"abilities,omitempty"`
}

// Verdict is that of the subscription guard on a worker.
type Verdict struct {
	Policy  provider.Policy `json:"policy"`
	Bin     string          `json:"bin"`
	Proof   provider.Proof  `json:"proof"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// HelloAttempt is an attempt that a worker knows.
type HelloAttempt struct {
	Attempt      string `json:"attempt"`
	State        string `json:"state"`
	LastN        int64  `json:"last_n"`
	NeverStarted bool   `json:"never_started,omitempty"`
}

// HelloReply answers Hello.
type HelloReply struct {
	Reply
	Protocol int                     `json:"protocol"`
	Order    int                     `json:"order"` // version of orders that are sent
	Hub      HubVersion              `json:"hub"`
	Attempts map[string]AttemptReply `json:"attempts"`
	Settings Settings                `json:"settings"`
	Slots    int                     `json:"slots"`
	Name     string                  `json:"name"`
	Drain    bool                    `json:"drain,omitempty"`
}

// HubVersion is the hub as it introduces itself.
type HubVersion struct {
	Boot    string `json:"boot"`
	Version string `json:"version"`
}

// AttemptReply is an attempt as the hub knows it.
type AttemptReply struct {
	State   string `json:"state"`
	Sealed  int64  `json:"sealed"`
	Stop    bool   `json:"stop,omitempty"`
	Fenced  bool   `json:"fenced,omitempty"`
	Settled bool   `json:"settled,omitempty"` // its end is recorded: nothing is sent again
}

// Beat says that a worker lives.
type Beat struct {
	Stamp
	NowMS     int64                  `json:"now_ms"` // its wall clock, Unix milliseconds
	FreeSlots int                    `json:"free_slots"`
	DiskFree  int64                  `json:"disk_free"`
	Why       string                 `json:"why,omitempty"` // why it takes nothing: disk
	Load1     float64                `json:"load1"`
	MemFree   int64                  `json:"mem_free"`
	RTTMS     float64                `json:"rtt_ms,omitempty"` // of the beat before
	Attempts  map[string]BeatAttempt `json:"attempts"`
	Repos     map[string][]string    `json:"repos,omitempty"` // where it changed since the last hello or beat
}

// BeatAttempt is an attempt in a beat.
type BeatAttempt struct {
	N            int64  `json:"n"`
	State        string `json:"state"`
	SpooledBytes int64  `json:"spooled_bytes"`
	OldestMS     int64  `json:"oldest_ms,omitempty"` // age of the oldest draft that is not sealed
}

// BeatReply answers Beat. Lease is the rest of each attempt's lease in seconds, from the
// sending of the beat.
type BeatReply struct {
	Reply
	NowMS    int64                `json:"now_ms"`
	Lease    map[string]int64     `json:"lease"`
	Sealed   map[string]int64     `json:"sealed"`
	Limits   map[string]Allowance `json:"limits,omitempty"`
	Stop     []string             `json:"stop,omitempty"`
	Fenced   []string             `json:"fenced,omitempty"`
	Settled  []string             `json:"settled,omitempty"`
	Drain    bool                 `json:"drain,omitempty"`
	Settings *Settings            `json:"settings,omitempty"` // when they changed
	// NextMS is how long to wait for the next beat, 0 for as long as the settings say. A worker
	// that does not know it beats by the settings.
	NextMS int64 `json:"next_ms,omitempty"`
}

// Claim asks for the right to start an attempt.
type Claim struct {
	Stamp
	Attempt  string `json:"attempt"`
	Epoch    int    `json:"epoch"`
	Instance string `json:"instance"`
}

// Answers to a claim.
const (
	Granted      = "granted"
	Refused      = "refused"
	WhyFenced    = "fenced"
	WhyTaken     = "taken"
	WhyStopped   = "stopped"
	WhyRevoked   = "revoked"
	WhyOver      = "over"
	WhyOrder     = "order_version"
	WhyUnwelcome = "draining"
	// WhyGiveUp is the reason of a fence that asks: an attempt that was never started is
	// given up by a GiveUp, and one that was started goes on.
	WhyGiveUp = "give_up"
)

// ClaimReply answers Claim. The same claim has the same answer. A refusal has its why in
// Reason.
type ClaimReply struct {
	Reply
	Answer   string     `json:"answer"` // Granted or Refused
	LeaseS   int64      `json:"lease_s,omitempty"`
	OnCutOff string     `json:"on_cut_off,omitempty"`
	Limits   *Allowance `json:"limits,omitempty"`
	NowMS    int64      `json:"now_ms,omitempty"`
}

// GiveUp says that an order is not executed; it is asked with the verb claim, too. The hub
// withdraws the attempt and places the session anew where it was never started.
type GiveUp struct {
	Claim
	Refused      string `json:"refused,omitempty"` // WhyOrder
	NeverStarted bool   `json:"never_started,omitempty"`
	Why          string `json:"why,omitempty"` // in words
}

// ObjectAsk asks whether the hub has an object, durable.
type ObjectAsk struct {
	Stamp
	Attempt string `json:"attempt"`
	Name    string `json:"name"`
}

// ObjectReply answers ObjectAsk.
type ObjectReply struct {
	Reply
	Taken bool `json:"taken"`
}

// Tell is what the hub tells a worker about an attempt, or about itself. Params are those
// of the session's socket for its verbs, or one of the types below.
type Tell struct {
	Stamp
	Params json.RawMessage `json:"params,omitempty"`
}

// TellReply answers a tell. N is the number of the newest draft that it caused.
type TellReply struct {
	Reply
	N      int64           `json:"n,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Resend asks for the drafts of an attempt from a number on. It has no answer.
type Resend struct {
	Attempt string `json:"attempt"`
	From    int64  `json:"from"`
}

// Sealed says what is in the chain, durable. It has no answer.
type Sealed struct {
	Sealed  map[string]int64 `json:"sealed"`
	Settled []string         `json:"settled,omitempty"`
}

// Drain says whether a worker takes new orders.
type Drain struct {
	On bool `json:"on"`
}

// Fence says that nothing of an attempt counts any more: its provider is killed at once.
type Fence struct {
	Attempt string `json:"attempt"`
	Reason  string `json:"reason"`
}

// Probe asks what a worker's agent of a provider can do. With a policy, that of the hub's
// machine, it is judged by it, in the environment that a session with these secrets gets.
type Probe struct {
	Provider   string            `json:"provider"`
	Words      []string          `json:"words,omitempty"`
	Policy     *provider.Policy  `json:"policy,omitempty"`
	SecretRefs map[string]string `json:"secret_refs,omitempty"`
}
