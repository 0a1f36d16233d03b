// Package dashboard is the manager's dashboard in a terminal: a text screen, a JSON summary for
// scripts, and a loop that reads decisions line by line, from a person or a pipe.
package dashboard

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"ac/snapshot"
)

// Limits of the lists and titles on the screen.
const (
	maxPending   = 12
	maxDecisions = 10
	maxRuns      = 12
	maxTitle     = 48
)

// commands returns the help lines of the commands.
func commands() []string {
	return []string{
		"r, refresh                      take a new snapshot (an empty line does, too)",
		"a, approve <artifact_id> [note] approve a pending artifact",
		"d, deny <artifact_id> [note]    deny a pending artifact",
		"h, help, ?                      show these commands",
		"q, quit, exit                   leave",
	}
}

// Screen returns the screen of a snapshot.
func Screen(ui *snapshot.UI) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	s, h := ui.SyncWorker, ui.Heartbeat
	line("=== Manager Dashboard ===")
	line("workspace: %s", plain(ui.WorkspaceDir))
	line("generated_at: %s", ui.GeneratedAt)
	line("index_sync_worker: enabled=%t running=%t pending_workspaces=%d", s.Enabled, s.Running, s.PendingWorkspaces)
	line("heartbeat: enabled=%t running=%t interval=%dm top_k=%d min_score=%d", h.Enabled, h.Running, h.TickIntervalMinutes, h.TopKWorkers, h.MinWakeScore)
	line("heartbeat ticks: total=%d woken=%d actions=%d approvals=%d", h.Stats.TicksTotal, h.Stats.WorkersWokenTotal, h.Stats.ActionsExecutedTotal, h.Stats.ApprovalsQueuedTotal)
	line("heartbeat schedule: last=%s next=%s", cmp.Or(h.LastTickAt, "-"), cmp.Or(h.NextTickAt, "-"))
	list(&b, "Pending approvals", ui.Inbox.Pending, maxPending, func(i snapshot.PendingItem) string {
		return fmt.Sprintf("%s [%s] project=%s parse_errors=%d title=%s", i.ArtifactID, i.ArtifactType, i.ProjectID, i.ParseErrors, title(i.Title))
	})
	list(&b, "Recent decisions", ui.Inbox.Decisions, maxDecisions, func(d snapshot.Decision) string {
		return fmt.Sprintf("%s %s project=%s by=%s at=%s", d.Decision, d.SubjectArtifactID, d.ProjectID, d.ActorID, d.CreatedAt)
	})
	list(&b, "Runs", ui.Monitor.Rows, maxRuns, run)
	line("")
	b.WriteString(help())
	return b.String()
}

func help() string { return "Commands:\n  " + strings.Join(commands(), "\n  ") + "\n" }

func run(r snapshot.MonitorRow) string {
	text := fmt.Sprintf("%s project=%s status=%s", r.RunID, r.ProjectID, r.RunStatus)
	if r.RowSession != nil {
		text += " live=" + r.LiveStatus
	}
	if r.LastEvent != nil {
		text += " last=" + r.LastEvent.Type
	}
	return text + fmt.Sprintf(" parse_errors=%d", r.ParseErrors)
}

// list prints a heading and the first items of a list.
func list[T any](b *strings.Builder, heading string, items []T, most int, show func(T) string) {
	fmt.Fprintf(b, "\n%s (%d):\n", heading, len(items))
	if len(items) == 0 {
		b.WriteString("- none\n")
	}
	for _, item := range items[:min(most, len(items))] {
		fmt.Fprintf(b, "- %s\n", plain(show(item)))
	}
	if more := len(items) - most; more > 0 {
		fmt.Fprintf(b, "- ... %d more\n", more)
	}
}

// plain replaces control characters from documents with blanks, against terminal escape injection.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
}

// title truncates a title to fit the screen.
func title(text *string) string {
	if text == nil || strings.TrimSpace(*text) == "" {
		return "-"
	}
	runes := []rune(plain(*text))
	if len(runes) > maxTitle {
		return string(runes[:maxTitle-1]) + "…"
	}
	return string(runes)
}
