package hub

// The registry: the known workers, which of them are online, and changes that users make.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"runtime"
	"slices"
	"strings"
	"time"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/fleet/placement"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// worker is the hub's state of a worker. Hub.mu guards it.
type worker struct {
	record     fleet.WorkerRecord
	hello      *fleet.Hello // the last one since this hub started; nil for none
	versionErr error        // why the newest hello was refused, nil if it was not
	beat       fleet.Beat
	seen       time.Duration // time of the last beat or hello, by Options.Elapsed; -1 for never
	written    time.Duration // when its record was last written
	boot       string        // of the process that last said hello
	offsets    []int64       // last measurements, in milliseconds
	offset     int64         // clock offset; from the record until one is measured
	rtt        float64
	starts     placement.Starts
	placedMS   int64
	launches   map[*launch]bool // those that occupy a slot
	stamps     fleet.Stamps
	instance   string // of the last accepted hello since this hub started

	nonce    string    // of a join in progress
	joinedBy string    // public key of the invitation that it joined with
	joinedAt time.Time // when
}

// defaultExpiry is how long an invitation is valid by default.
const defaultExpiry = time.Hour

// joinGrace is how long a used invitation's key stays valid, so that the reply arrives or can be
// repeated.
const joinGrace = 10 * time.Second

func newWorker(record fleet.WorkerRecord) *worker {
	w := &worker{record: record, seen: -1, launches: map[*launch]bool{}}
	if record.Last != nil { // drafts in flight arrive before its hello
		w.offset = record.Last.ClockOffsetMS
	}
	return w
}

func (h *Hub) loadWorkers() error {
	list, broken, err := fleet.ReadWorkers(h.w.FS)
	if err != nil {
		return err
	}
	h.broken = append(h.broken, broken...)
	for _, record := range list {
		h.workers[record.ID] = newWorker(record)
	}
	return nil
}

// users returns everyone who may connect. The caller must hold the hub's lock, except at startup.
func (h *Hub) users() (list []carrier.User) {
	now := h.w.Env.Clock.Now()
	for id, w := range h.workers {
		list = append(list, usersOf(w.record, now)...)
		if w.joinedBy != "" && now.Sub(w.joinedAt) < joinGrace {
			list = append(list, carrier.User{Worker: id, PublicKey: w.joinedBy, Invited: true})
		}
	}
	slices.SortFunc(list, func(a, b carrier.User) int {
		return cmp.Or(strings.Compare(a.Worker, b.Worker), strings.Compare(a.PublicKey, b.PublicKey))
	})
	return list
}

// usersOf returns the users that a worker's record permits to connect.
func usersOf(r fleet.WorkerRecord, now time.Time) (list []carrier.User) {
	if r.State != fleet.WorkerRevoked && r.PublicKey != "" {
		list = append(list, carrier.User{Worker: r.ID, PublicKey: r.PublicKey})
	}
	if r.Invite != nil && !expired(r.Invite, now) {
		list = append(list, carrier.User{Worker: r.ID, PublicKey: r.Invite.PublicKey, Invited: true})
	}
	return list
}

func expired(i *fleet.Invitation, now time.Time) bool {
	at, ok := clock.Parse(i.ExpiresAt)
	return !ok || !now.Before(at)
}

// admit updates who may connect to the embedded server. For the user's own NATS it does nothing:
// its operators decide. The caller must hold the hub's lock.
func (h *Hub) admit() error {
	if h.server == nil {
		return nil
	}
	return h.server.SetUsers(h.users())
}

// find returns a worker by id or name. The caller must hold the hub's lock.
func (h *Hub) find(name string) (*worker, error) {
	if w := h.workers[name]; w != nil {
		return w, nil
	}
	for _, w := range h.workers {
		if w.record.Name == name && w.record.State != fleet.WorkerRevoked {
			return w, nil
		}
	}
	return nil, fault.New(fleet.UnknownWorker, "there is no worker %s; ac worker:list has them", name)
}

// isNameTaken reports whether another worker than but has the name. The caller must hold the hub's
// lock.
func (h *Hub) isNameTaken(name, but string) bool {
	for id, w := range h.workers {
		if id != but && w.record.Name == name && w.record.State != fleet.WorkerRevoked {
			return true
		}
	}
	return false
}

func checkLabels(labels []string) error {
	if len(labels) > fleet.MaxLabels {
		return fault.InvalidField("labels", "must be at most %d", fleet.MaxLabels)
	}
	for _, label := range labels {
		if !fleet.IsLabel(label) {
			return fault.InvalidField("labels", "%q is no label", label)
		}
	}
	return nil
}

// invite creates a worker that may join. Its record is durable on return.
func (h *Hub) invite(ctx context.Context, p fleet.InviteRequest) (result fleet.InviteResult, err error) {
	if !fleet.IsName(p.Name) {
		return result, fault.InvalidField("name", "must begin with a letter or digit, and have letters, digits, dots, dashes and underscores only")
	}
	if err := checkLabels(p.Labels); err != nil {
		return result, err
	}
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		return result, err
	}
	now := h.w.Env.Clock.Now()
	expires := now.Add(defaultExpiry)
	if p.ExpiresS > 0 {
		expires = now.Add(time.Duration(p.ExpiresS) * time.Second)
	}
	record := fleet.WorkerRecord{
		SchemaVersion: doc.Version, Type: "worker_record", ID: h.w.Env.IDs.New("wkr"), Name: p.Name, Role: fleet.RoleWorker, Labels: p.Labels,
		TrustLabels: p.TrustLabels, State: fleet.WorkerInvited, InvitedAt: clock.Stamp(now),
		Invite: &fleet.Invitation{PublicKey: key.Public(), ExpiresAt: clock.Stamp(expires)},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	record.Slots = cmp.Or(p.Slots, h.settings.Slots, max(1, runtime.NumCPU()/2))
	if h.isNameTaken(p.Name, "") {
		return result, fault.New(fault.Conflict, "a worker is named %s already", p.Name)
	}
	if err := fleet.WriteWorker(h.w, record); err != nil {
		return result, err
	}
	h.workers[record.ID] = newWorker(record)
	if err := h.admit(); err != nil {
		return result, err
	}
	if err := h.carrier.EnsureWorker(ctx, record.ID); err != nil {
		return result, err
	}
	urls := []string{}
	for _, address := range h.owner.Advertise {
		urls = append(urls, "tls://"+address)
	}
	token := fleet.Token{
		Hub: h.config.HubID, Worker: record.ID, URLs: urls, Fingerprint: h.owner.Fingerprint, HubKey: h.key.Public(), Seed: key.Seed(), Expires: expires.Unix(),
	}
	return fleet.InviteResult{WorkerID: record.ID, Token: token.String(), ExpiresAt: clock.Stamp(expires)}, nil
}

// amend changes the record of a worker. The change is durable on return. The caller must hold the
// hub's lock.
func (h *Hub) amend(w *worker, change func(*fleet.WorkerRecord)) error {
	record := w.record
	change(&record)
	if err := fleet.WriteWorker(h.w, record); err != nil {
		return err
	}
	w.record, w.written = record, h.o.Elapsed()
	return nil
}

func (h *Hub) update(p fleet.UpdateRequest) (row fleet.WorkerRow, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, err := h.find(p.WorkerID)
	if err != nil {
		return row, err
	}
	if p.Name != "" && !fleet.IsName(p.Name) {
		return row, fault.InvalidField("name", "must begin with a letter or digit, and have letters, digits, dots, dashes and underscores only")
	}
	if p.Name != "" && h.isNameTaken(p.Name, w.record.ID) {
		return row, fault.New(fault.Conflict, "a worker is named %s already", p.Name)
	}
	if p.Labels != nil {
		if err := checkLabels(*p.Labels); err != nil {
			return row, err
		}
	}
	if err := h.amend(w, func(r *fleet.WorkerRecord) {
		r.Name, r.Slots = cmp.Or(p.Name, r.Name), cmp.Or(p.Slots, r.Slots)
		if p.Labels != nil {
			r.Labels = *p.Labels
		}
	}); err != nil {
		return row, err
	}
	h.wakeTick()
	return h.row(w), nil
}

func (h *Hub) drain(p fleet.DrainRequest) (row fleet.WorkerRow, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, err := h.find(p.WorkerID)
	if err != nil {
		return row, err
	}
	state := map[bool]string{true: fleet.WorkerDraining, false: fleet.WorkerActive}[p.On]
	switch w.record.State {
	case state:
		return h.row(w), nil
	case fleet.WorkerActive, fleet.WorkerDraining:
	default:
		return row, fault.New(fault.Conflict, "worker %s is %s", w.record.Name, w.record.State)
	}
	if err := h.amend(w, func(r *fleet.WorkerRecord) { r.State = state }); err != nil {
		return row, err
	}
	h.notify(w.record.ID, fleet.TellDrain, fleet.Drain{On: p.On})
	h.wakeTick()
	return h.row(w), nil
}

// revoke revokes a worker for good. On return its attempts are fenced.
func (h *Hub) revoke(ctx context.Context, p fleet.RevokeRequest) (result fleet.RevokeResult, err error) {
	h.mu.Lock()
	w, err := h.find(p.WorkerID)
	if err == nil && w.record.State != fleet.WorkerRevoked {
		err = h.amend(w, func(r *fleet.WorkerRecord) {
			r.State, r.RevokedAt, r.Invite = fleet.WorkerRevoked, clock.Stamp(h.w.Env.Clock.Now()), nil
		})
	}
	if err != nil {
		h.mu.Unlock()
		return result, err
	}
	launches := map[*launch]string{} // to their attempts
	for l := range w.launches {
		if l.h == nil {
			continue // a reserved slot
		}
		launches[l] = l.id()
		h.notify(w.record.ID, fleet.TellFence, fleet.Fence{Attempt: l.id(), Reason: fleet.WhyRevoked}) // before it loses the connection
	}
	admitErr := h.admit()
	h.mu.Unlock()
	result.Fenced = []string{}
	for l, attempt := range launches {
		ref := l.order.SessionRef
		if err := h.fence(ctx, l, fence{attempt: attempt, reason: fleet.WhyRevoked, by: p.By, note: p.Reason}); err != nil {
			return result, err
		}
		result.Fenced = append(result.Fenced, ref)
	}
	slices.Sort(result.Fenced)
	return result, admitErr
}

// online reports whether a worker was heard from recently. The caller must hold the hub's lock.
func (h *Hub) online(w *worker) bool {
	return w.seen >= 0 && h.o.Elapsed()-w.seen < h.settings.UnreachableAfter() && w.record.State != fleet.WorkerRevoked
}

// nonce returns an unguessable text.
func nonce() (string, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw), nil
}
