package transcript

// Notices for events that are not part of the conversation.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"ac/events"
)

// noticeOf returns the notice for an event, "" for none.
func noticeOf(e Event) string {
	var p struct {
		Session int    `json:"session"`
		How     string `json:"how"`
		OK      *bool  `json:"ok"`
		Error   string `json:"error"`
		Name    string `json:"name"`
		Message string `json:"message"`
		Size    int64  `json:"size"`
		Scope   string `json:"scope"`
		Metric  string `json:"metric"`
		After   struct {
			Mode  string `json:"mode"`
			Level string `json:"permission_level"`
			Rules []any  `json:"rules"`
		} `json:"after"`
	}
	_ = json.Unmarshal(e.Payload, &p) // the event's type suffices
	switch e.Type {
	case events.RunContinued:
		if p.Session > 0 {
			return "The run goes on in session " + strconv.Itoa(p.Session) + "."
		}
		return "The run goes on."
	case events.RunPolicyChanged:
		return policyNotice(p.After.Mode, p.After.Level, len(p.After.Rules))
	case events.InterruptRequested:
		return "An interrupt was asked for."
	case events.CompactRequested:
		return "The conversation is to be compacted" + inParentheses(p.How) + "."
	case events.Compacted:
		if p.OK != nil && !*p.OK {
			return strings.TrimSuffix("The conversation could not be compacted: "+p.Error, ": ")
		}
		return "The conversation was compacted" + inParentheses(p.How) + "."
	case events.RunNotice:
		return p.Message
	case events.RunAttached:
		return fmt.Sprintf("%s was attached (%d bytes).", firstOf(p.Name, "A file"), p.Size)
	case events.BudgetExceeded:
		if p.Scope != "" && p.Metric != "" {
			return "The budget of the " + p.Scope + " was exceeded: " + p.Metric + "."
		}
		return "A budget was exceeded."
	}
	return ""
}

func inParentheses(how string) string {
	if how == "" {
		return ""
	}
	return " (" + how + ")"
}

func policyNotice(mode, level string, rules int) string {
	var parts []string
	if mode != "" {
		parts = append(parts, "mode "+mode)
	}
	if level != "" {
		parts = append(parts, "level "+level)
	}
	if rules == 1 {
		parts = append(parts, "1 rule")
	} else if rules > 1 {
		parts = append(parts, strconv.Itoa(rules)+" rules")
	}
	if len(parts) == 0 {
		return "The policy was changed."
	}
	return "The policy was changed: " + strings.Join(parts, ", ") + "."
}

// endNotice returns the notice for the end of a session.
func endNotice(e Event) string {
	var p struct {
		Error    string `json:"error"`
		ExitCode *int   `json:"exit_code"`
		Signal   string `json:"signal"`
	}
	_ = json.Unmarshal(e.Payload, &p) // the event's type suffices
	text := "The run " + strings.TrimPrefix(e.Type, "run.")
	switch {
	case p.Error != "":
		return text + ": " + p.Error
	case p.Signal != "":
		return text + " (" + p.Signal + ")."
	case p.ExitCode != nil && *p.ExitCode != 0:
		return text + " (exit code " + strconv.Itoa(*p.ExitCode) + ")."
	}
	return text + "."
}
