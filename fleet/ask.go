package fleet

// Requests from workers to their hub, the hub's replies, and messages from the hub to a worker.

import (
	"encoding/json"
	"errors"

	"ac/internal/fault"
	"ac/runs/provider"
)

// Verbs of requests from workers.
const (
	AskJoin   = "join"
	AskHello  = "hello"
	AskBeat   = "beat"
	AskClaim  = "claim"
	AskObject = "object"
)

// Verbs of messages from a hub to a worker, in addition to those of a session's socket.
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

// Stamp identifies a request, so that repeating it has no effect. Boot identifies the sending
// process. Seq increases with each of its requests.
type Stamp struct {
	Boot string `json:"boot"`
	Seq  int64  `json:"seq"`
}

// Reply is the common part of all replies. Seq is the request's sequence number. A refusal has a
// reason.
type Reply struct {
	Seq    int64           `json:"seq"`
	Reason string          `json:"reason,omitempty"`
	Error  string          `json:"error,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// SetSeq sets Seq to the sequence number of the request.
func (r *Reply) SetSeq(seq int64) { r.Seq = seq }

// Err returns the refusal as an error, or nil if the reply is not a refusal.
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

// Refusal returns the reply that reports an error, including the error's data.
func Refusal(seq int64, err error) Reply {
	reply := Reply{Seq: seq, Reason: string(fault.ReasonOf(err)), Error: err.Error()}
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Data != nil {
		if text, err := json.Marshal(refusal.Data); err == nil {
			reply.Data = text
		}
	}
	return reply
}

// Join accepts an invitation to become a worker. Signature is JoinText signed with the new key,
// in base64url. The message itself is signed with the invitation's key.
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

// JoinText returns the text that a joining worker signs with its new key.
func JoinText(hub, worker, nonce, publicKey string) []byte {
	return []byte("join\n" + hub + "\n" + worker + "\n" + nonce + "\n" + publicKey)
}

// JoinReply answers Join. For an empty nonce it contains only a nonce to sign. For a signed nonce
// it describes the worker as the hub registered it.
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

// Hello introduces a worker to the hub. The worker sends it after each connect.
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
	Repos     map[string][]string      `json:"repos"` // commits in the worker's mirrors
	Attempts  []HelloAttempt           `json:"attempts"`
	NowMS     int64                    `json:"now_ms"`
}

// ProviderProbe is the result of a worker's probe of an agent's program.
type ProviderProbe struct {
	Bin     string `json:"bin"`
	Version string `json:"version,omitempty"`
	OK      bool   `json:"ok"`
	Why     string `json:"why,omitempty"`
	// Verdict, About and Abilities are set only in the reply to a Probe with a policy.
	Verdict   *Verdict             `json:"verdict,omitempty"`
	About     *provider.Provenance `json:"about,omitempty"`
	Abilities *provider.Abilities  `json:"abilities,omitempty"`
}

// Verdict is what the subscription guard decided on a worker.
type Verdict struct {
	Policy  provider.Policy `json:"policy"`
	Bin     string          `json:"bin"`
	Proof   provider.Proof  `json:"proof"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// HelloAttempt is an attempt as the worker knows it.
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
	Order    int                     `json:"order"` // version of the orders that the hub sends
	Hub      HubVersion              `json:"hub"`
	Attempts map[string]AttemptReply `json:"attempts"`
	Settings Settings                `json:"settings"`
	Slots    int                     `json:"slots"`
	Name     string                  `json:"name"`
	Drain    bool                    `json:"drain,omitempty"`
}

// HubVersion is how the hub introduces itself.
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
	Settled bool   `json:"settled,omitempty"` // its end is recorded; the worker need not send anything again
}

// Beat is the heartbeat of a worker.
type Beat struct {
	Stamp
	NowMS     int64                  `json:"now_ms"` // the worker's wall clock, Unix milliseconds
	FreeSlots int                    `json:"free_slots"`
	DiskFree  int64                  `json:"disk_free"`
	Why       string                 `json:"why,omitempty"` // why the worker accepts no orders: disk
	Load1     float64                `json:"load1"`
	MemFree   int64                  `json:"mem_free"`
	RTTMS     float64                `json:"rtt_ms,omitempty"` // round-trip time of the previous beat
	Attempts  map[string]BeatAttempt `json:"attempts"`
	Repos     map[string][]string    `json:"repos,omitempty"` // those changed since the last hello or beat
}

// BeatAttempt is an attempt in a beat.
type BeatAttempt struct {
	N            int64  `json:"n"`
	State        string `json:"state"`
	SpooledBytes int64  `json:"spooled_bytes"`
	OldestMS     int64  `json:"oldest_ms,omitempty"` // age of the oldest draft that is not sealed
}

// BeatReply answers Beat. Lease is the remaining time of each attempt's lease in seconds, counted
// from when the beat was sent.
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
	Settings *Settings            `json:"settings,omitempty"` // nil means unchanged
	// NextMS is the wait until the next beat; 0 means the interval in the settings. A worker that
	// does not know this field uses the settings.
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
	// WhyGiveUp is the reason of a conditional fence: the worker declines an attempt that never
	// started (GiveUp), and continues one that started.
	WhyGiveUp = "give_up"
)

// ClaimReply answers Claim. Claims are idempotent: a repeated claim gets the same reply. Reason
// explains a refusal.
type ClaimReply struct {
	Reply
	Answer   string     `json:"answer"` // Granted or Refused
	LeaseS   int64      `json:"lease_s,omitempty"`
	OnCutOff string     `json:"on_cut_off,omitempty"`
	Limits   *Allowance `json:"limits,omitempty"`
	NowMS    int64      `json:"now_ms,omitempty"`
}

// GiveUp declines an order. It shares the verb AskClaim. The hub withdraws the attempt. If it
// never started, the hub places the session again.
type GiveUp struct {
	Claim
	Refused      string `json:"refused,omitempty"` // WhyOrder
	NeverStarted bool   `json:"never_started,omitempty"`
	Why          string `json:"why,omitempty"` // for people
}

// ObjectAsk asks whether the hub has stored an object durably.
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

// Tell is a message from the hub to a worker, about an attempt or the worker itself. Params are
// those of the same verb on the session's socket, or one of the types below.
type Tell struct {
	Stamp
	Params json.RawMessage `json:"params,omitempty"`
}

// TellReply answers Tell. N is the number of the newest draft that the message caused.
type TellReply struct {
	Reply
	N      int64           `json:"n,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Resend asks for the drafts of an attempt from a number onward. It has no reply.
type Resend struct {
	Attempt string `json:"attempt"`
	From    int64  `json:"from"`
}

// Sealed reports which drafts are durable in the hash chain. It has no reply.
type Sealed struct {
	Sealed  map[string]int64 `json:"sealed"`
	Settled []string         `json:"settled,omitempty"`
}

// Drain sets whether a worker accepts new orders.
type Drain struct {
	On bool `json:"on"`
}

// Fence invalidates an attempt. The hub rejects everything that the attempt sends from now on,
// and the worker kills its provider at once.
type Fence struct {
	Attempt string `json:"attempt"`
	Reason  string `json:"reason"`
}

// Probe asks a worker what a provider's agent can do. Policy is the execution policy of the hub's
// machine. If it is set, the worker judges the agent by it, in the environment that a session
// with these secrets would get.
type Probe struct {
	Provider   string            `json:"provider"`
	Words      []string          `json:"words,omitempty"`
	Policy     *provider.Policy  `json:"policy,omitempty"`
	SecretRefs map[string]string `json:"secret_refs,omitempty"`
}
