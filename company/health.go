package company

// server.health: what a process serves, and what is wrong with it.

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"ac/index/worker"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/terminal"
	"ac/workspace"
)

// Reasons of a degraded server.
const (
	ReasonIndexBehind = "index_behind"
	ReasonUnreadable  = "workspace_unreadable"
	ReasonDiskFull    = "disk_full"
)

const (
	// fullBelow is the free space, in bytes, below which the disk counts as full.
	fullBelow = 16 << 20
	// behindAfter is how long noticed changes may wait for the index.
	behindAfter = 30 * time.Second
)

// Health is the result of server.health.
type Health struct {
	Status          string            `json:"status"` // ok or degraded
	ServerID        string            `json:"server_id"`
	PID             int               `json:"pid"`
	Version         string            `json:"version"`
	ProtocolVersion int               `json:"protocol_version"`
	StartedAt       string            `json:"started_at"`
	UptimeMS        int64             `json:"uptime_ms"`
	Workspaces      []HealthWorkspace `json:"workspaces"`
	Listeners       []HealthListener  `json:"listeners"`
	Terminals       HealthTerminals   `json:"terminals"`
	Reasons         []string          `json:"reasons"`
}

// HealthWorkspace is a workspace that the process has opened. ActiveSessions counts the
// sessions of all processes.
type HealthWorkspace struct {
	WorkspaceDir   string `json:"workspace_dir"`
	ActiveSessions int    `json:"active_sessions"`
	Subscriptions  int    `json:"subscriptions"`
}

// HealthListener is an address that the process listens on.
type HealthListener struct {
	Dialect string `json:"dialect"`
	Address string `json:"address"`
	Clients int    `json:"clients"`
}

// HealthTerminals reports whether the process may have consoles, and how many it has.
type HealthTerminals struct {
	Available bool `json:"available"`
	Running   int  `json:"running"`
	Limit     int  `json:"limit"`
}

// listeners are the addresses that a process listens on. The zero value is empty.
type listeners struct {
	mu   sync.Mutex
	list []*listener
}

type listener struct {
	dialect, address string
	clients          func() int
}

// AddListener reports an address in server.health until done is called. clients returns how many
// clients are connected.
func (cs *Host) AddListener(dialect, address string, clients func() int) (done func()) {
	l := &listener{dialect, address, clients}
	cs.listeners.mu.Lock()
	defer cs.listeners.mu.Unlock()
	cs.listeners.list = append(cs.listeners.list, l)
	return func() {
		cs.listeners.mu.Lock()
		defer cs.listeners.mu.Unlock()
		cs.listeners.list = slices.DeleteFunc(cs.listeners.list, func(other *listener) bool { return other == l })
	}
}

// newServerID generates a version 4 UUID.
func newServerID(hexOf func(bytes int) string) string {
	raw, err := hex.DecodeString(hexOf(16))
	if err != nil || len(raw) != 16 {
		panic("company: the source of ids makes no hexadecimal") // cannot happen
	}
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	text := hex.EncodeToString(raw)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// ServerID returns the id of this process, a UUID generated at its start.
func (cs *Host) ServerID() string { return cs.serverID }

// Health reports what the process serves. It reads no log.
func (cs *Host) Health(context.Context, NoParams) (Health, error) {
	now := cs.env.Clock.Now()
	h := Health{
		Status: "ok", ServerID: cs.serverID, PID: cs.env.PID, Version: cs.version, ProtocolVersion: 1,
		StartedAt: clock.Stamp(cs.started), UptimeMS: now.Sub(cs.started).Milliseconds(),
		Workspaces: []HealthWorkspace{}, Listeners: cs.healthListeners(), Reasons: []string{},
	}
	if cs.terminals != nil {
		h.Terminals = HealthTerminals{true, cs.terminals.Running(), terminal.Limit}
	}
	found := map[string]bool{ReasonIndexBehind: isIndexBehind(cs.WorkerStatus(), now)}
	cs.mu.Lock()
	open := maps.Clone(cs.open)
	cs.mu.Unlock()
	for _, dir := range slices.Sorted(maps.Keys(open)) {
		row := HealthWorkspace{WorkspaceDir: dir}
		_, err := workspace.Identity(dir)
		if err == nil {
			row.ActiveSessions, err = session.Living(open[dir].ws)
		}
		if err == nil {
			if _, err = open[dir].ws.Machine(); fault.Is(err, fault.NotFound) {
				err = nil
			}
		}
		found[ReasonUnreadable] = found[ReasonUnreadable] || err != nil
		if free, err := durable.Free(dir); err == nil && free < fullBelow {
			found[ReasonDiskFull] = true
		}
		if cs.hub != nil {
			row.Subscriptions = cs.hub.Subscribers(dir)
		}
		h.Workspaces = append(h.Workspaces, row)
	}
	for _, reason := range []string{ReasonIndexBehind, ReasonUnreadable, ReasonDiskFull} {
		if found[reason] {
			h.Status, h.Reasons = "degraded", append(h.Reasons, reason)
		}
	}
	return h, nil
}

// isIndexBehind reports whether the latest sync of an index failed, or changes have waited too long for
// a sync.
func isIndexBehind(s worker.Status, now time.Time) bool {
	failed := s.LastErrorAt != nil && s.BatchStartedAt != nil && *s.LastErrorAt >= *s.BatchStartedAt
	waits := s.PendingWorkspaces > 0 && s.LastRunAt != nil && now.UnixMilli()-*s.LastRunAt > behindAfter.Milliseconds() &&
		s.LastNotifyAt != nil && now.UnixMilli()-*s.LastNotifyAt > behindAfter.Milliseconds()
	return failed || waits
}

func (cs *Host) healthListeners() []HealthListener {
	cs.listeners.mu.Lock()
	defer cs.listeners.mu.Unlock()
	rows := make([]HealthListener, 0, len(cs.listeners.list))
	for _, l := range cs.listeners.list {
		rows = append(rows, HealthListener{l.dialect, l.address, l.clients()})
	}
	return rows
}
