package web

// Answers: JSON bodies, and the mapping of errors to statuses.

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ac/internal/fault"
	"ac/rpc"
	"ac/runs/agent"
)

// refusal is an error with its HTTP status.
type refusal struct {
	status  int
	message string
}

func (e *refusal) Error() string { return e.message }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// failure is the body of an error.
type failure struct {
	Error string `json:"error"`
}

// statusOf returns the HTTP status of an error. 500 means a failure of this program or of the
// machine.
func statusOf(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	if wire, ok := errors.AsType[*rpc.WireError](err); ok && wire.Code == rpc.CodeMethodNotFound {
		return http.StatusNotFound
	}
	switch fault.ReasonOf(err) {
	case fault.InvalidParams, fault.Blank, fault.BadQuery:
		return http.StatusBadRequest
	case fault.Denied, fault.ActorNotAllowed, fault.ExceedsPermissionLevel, fault.LaunchNotAllowed, fault.OtherUser:
		return http.StatusForbidden
	case fault.NotFound, fault.InteractionNotFound, fault.MCPNotFound, fault.ProfileNotFound, fault.TerminalNotFound:
		return http.StatusNotFound
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.NoTarget, fault.TargetAmbiguous, fault.TargetBusy, fault.PreviewGone, fault.FilesRefused, fault.RevertedAlready, fault.NoWorktree,
		fault.Conflict, fault.PreviewChanged, fault.Locked, fault.Incomplete, fault.InvalidFile, fault.NotEmpty,
		fault.Unfilled, fault.Unsupported, fault.BudgetExceeded, fault.RunBusy, fault.SecretDetected, fault.ApprovalRequired,
		fault.InteractionClosed, fault.InteractionKindMismatch, fault.CursorAhead, fault.RunNotResumable, fault.RunOwnedByJob,
		fault.WorktreeGone, fault.RunNotLive, fault.RunNotSteerable, fault.NoActiveTurn, fault.TurnMismatch, fault.SteerQueueFull,
		fault.NoAgentCommand, fault.ResumeFailed, fault.RateLimited, fault.TooManyOpen, fault.NotInteractive,
		fault.PlaceNotFound, fault.RunExists, fault.Conflicts, fault.SnapshotBase, fault.ProgramMissing, fault.PlaceUnavailable,
		agent.ReasonHandshake, agent.ReasonProtocol, agent.ReasonAuth, agent.ReasonEnded, agent.ReasonStuck, // the agent did not get to its next prompt
		fault.BudgetRefused, fault.PlanChanged, fault.NeverRan, fault.PromptMasked, fault.Settled, fault.NotDismissible, fault.Changed,
		fault.MCPInvalid, fault.InvalidURL, fault.EnvMissing, fault.ProfileExists, fault.ProfileInUse, fault.InvalidHeader, fault.HostNotAllowed,
		fault.ProbeFailed, fault.ProbeHTTPError, fault.ProbeBadJSON,
		fault.TerminalLimit, fault.TerminalExited, fault.TerminalStalled, fault.TerminalViewers, fault.ShellNotAllowed, fault.ShellUnavailable,
		fault.PathOutsideRoot, fault.NotADirectory:
		return http.StatusConflict
	case fault.ShuttingDown, fault.TooManyWaiting, fault.Canceled, fault.NotAWorkspace, fault.SupervisorUnreachable, fault.HubNotRunning, fault.TerminalDisabled, fault.TerminalUnavailable:
		return http.StatusServiceUnavailable
	case fault.IO, fault.NoIndex, fault.Internal, fault.WriteFailed, fault.GitFailed:
	}
	return http.StatusInternalServerError
}

// fullMessage returns the message of an error. For invalid params it lists each issue.
func fullMessage(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason == fault.InvalidParams {
		return e.InFull()
	}
	return err.Error()
}

// fail sends an error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	answer(w, r, statusOf(err), failure{fullMessage(err)})
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := rpc.Encode(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal fault"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	send(w, r, status, append(body, '\n'))
}

// minCompressBytes is the size in bytes from which a body is compressed.
const minCompressBytes = 1 << 10

// send sends a body, compressed if the client accepts that. The caller has set the headers.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	if len(body) < minCompressBytes {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // the client may have disconnected
		return
	}
	h.Add("Vary", "Accept-Encoding")
	if !takesGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // as above
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	_, _ = packed.Write(body)                           // as above
	_ = packed.Close()                                  // as above
}

// takesGzip reports whether a client accepts gzip.
func takesGzip(accepted []string) bool {
	others := false
	for part := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		weight := 1.0
		if _, q, ok := strings.Cut(strings.ReplaceAll(params, " ", ""), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64) // an invalid weight is 0
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return weight > 0
		case "*":
			others = weight > 0
		}
	}
	return others
}
