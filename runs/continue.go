package runs

// Continuing a run that has ended: another session in the same place. The session resumes the
// agent's own conversation if it still exists, else it starts from a digest.

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

// Ways to resume a conversation.
const (
	ResumeAuto     = "auto"
	ResumeProvider = "provider"
	ResumeDigest   = "digest"
)

// ContinueSpec is a request to continue a run. Unset launch parameters keep the values of the
// newest session.
type ContinueSpec struct {
	LaunchSpec
	Resume          string
	ClientMessageID string
}

// ContinueResult describes the continuation.
type ContinueResult struct {
	SessionRef  string `json:"session_ref"`
	Session     int    `json:"session"`
	Turn        int    `json:"turn,omitempty"`
	Resumed     string `json:"resumed"`
	ThreadID    string `json:"thread_id,omitempty"`
	ResumeError string `json:"resume_error,omitempty"`
}

// establishWithin is how long Continue waits for the conversation to be established.
const establishWithin = 30 * time.Second

// Continue continues a run. It prompts the run's live session if that is idle, else it starts
// another session. A refusal leaves the run as it ended.
func Continue(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, spec ContinueSpec) (none ContinueResult, err error) {
	run, record, live, err := LiveSession(ctx, w, spec.ProjectID, spec.RunID)
	if err != nil {
		return none, err
	}
	if before, ok, err := findSentMessage(w, run, spec.ClientMessageID); ok || err != nil {
		return before.continued, err
	}
	if live {
		return promptLive(ctx, w, run, record, spec)
	}
	order, err := continuation(ctx, w, run, &spec)
	if err != nil {
		return none, err
	}
	place, _, err := a.enter(ctx, w, spec.LaunchSpec, run)
	if err != nil {
		return none, err
	}
	defer place.Leave()
	if err := mayAct(ctx, w, run, spec.Actor); err != nil {
		return none, err
	}
	if err := a.afford(ctx, w, spec.LaunchSpec, budget.Of(run.Usage)); err != nil {
		return none, err
	}
	if err := spec.launch(ctx, starter, place, order); err != nil {
		return none, err
	}
	return awaitEstablished(ctx, w, order)
}

// promptLive sends a prompt to a live, idle session.
func promptLive(ctx context.Context, w *workspace.Workspace, run doc.Run, record doc.Session, spec ContinueSpec) (none ContinueResult, err error) {
	if record.Driver == "" {
		return none, fault.New(fault.RunBusy, "run %s is executing a command", run.ID)
	}
	if spec.ModelProfile != "" {
		return none, fault.InvalidField("model_profile", "does not change in a session that lives")
	}
	if given := spec.forSessions(); len(given) > 0 {
		return none, fault.Invalid(given...)
	}
	if spec.Prompt == nil || strings.TrimSpace(*spec.Prompt) == "" {
		return none, fault.InvalidField("prompt_text", "must not be blank")
	}
	if err := mayAct(ctx, w, run, spec.Actor); err != nil {
		return none, err
	}
	said := session.PromptRequest{Actor: spec.Actor.ID, Text: *spec.Prompt, Model: spec.Model, ClientMessageID: spec.ClientMessageID}
	said.DisplayText, said.DisplayMeta = spec.Live.DisplayText, spec.Live.DisplayMeta
	begun, err := session.Prompt(ctx, w, record, said)
	if err != nil {
		return none, err
	}
	return ContinueResult{SessionRef: record.Ref, Session: sessionsOf(run), Turn: begun.Turn, Resumed: "live", ThreadID: begun.ThreadID}, nil
}

// forSessions returns the issues for parameters that only a new session accepts, not a live one.
func (s ContinueSpec) forSessions() (issues []fault.Issue) {
	given := s.Live.liveOnlyNames()
	for name, set := range map[string]bool{
		"driver": s.Live.Driver != "", "env": len(s.Env) > 0, "budget": s.Budget != nil, "session_ref": s.SessionRef != "",
		"resume": s.Resume != "" && s.Resume != ResumeAuto,
	} {
		if set {
			given = append(given, name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(given)) {
		issues = append(issues, fault.Issue{Path: []any{name}, Code: "custom", Message: "does not change in a session that lives"})
	}
	return issues
}

func sessionsOf(run doc.Run) int {
	if run.Live == nil {
		return 1
	}
	return max(run.Live.Sessions, 1)
}

// continuable refuses a run that cannot be continued.
func continuable(w *workspace.Workspace, run doc.Run) error {
	switch {
	case !doc.Terminal(run.Status):
		return fault.New(fault.RunNotResumable, "run %s never executed: launch it", run.ID)
	case run.Spec != nil && run.Spec.WorktreeRel != "" && !w.Exists(run.Spec.WorktreeRel):
		return fault.New(fault.WorktreeGone, "the worktree of run %s is gone: what was landed or cleaned up cannot be continued, start another run", run.ID)
	}
	return nil
}

// continuation returns the order for another session of a run. It fills in the unset fields of
// spec.
func continuation(ctx context.Context, w *workspace.Workspace, run doc.Run, spec *ContinueSpec) (order session.Order, err error) {
	if err := continuable(w, run); err != nil {
		return order, err
	}
	waiting, err := session.WaitingTexts(w, spec.ProjectID, spec.RunID)
	if err != nil {
		return order, err
	}
	driver, err := spec.inherit(w, run)
	if err != nil {
		return order, err
	}
	blank := spec.Prompt == nil || strings.TrimSpace(*spec.Prompt) == ""
	if blank && len(waiting) == 0 && !isTrue(spec.Live.KeepOpen) {
		return order, fault.InvalidField("prompt_text", "must not be blank")
	}
	spec.Waits = len(waiting) > 0
	if err := spec.adopt(w, run.Provider); err != nil {
		return order, err
	}
	if run.Spec != nil {
		spec.RepoID = run.Spec.RepoID
	}
	if err := spec.placeable(ctx, w, false); err != nil {
		return order, err
	}
	var tree *session.Worktree
	if run.Spec != nil { // else nothing was executed that a session could resume
		tree, err = spec.resumeWorktree(ctx, w, run)
	}
	if err != nil {
		return order, err
	}
	spec.Argv = spec.keptWords(w, run, spec.Live.Driver)
	live, err := spec.live(w, run)
	if err != nil {
		return order, err
	}
	if run.Live != nil {
		live.Turns = run.Live.Turns
	}
	live.Continue, live.Cause, live.ClientMessageID = true, session.CauseContinue, spec.ClientMessageID
	was := run.Spec
	if live.Fresh = was == nil; live.Fresh { // the run ended before it executed anything: spec says where it works
		was = &doc.Spec{RepoID: spec.RepoID, WorkdirRel: spec.WorkdirRel, TaskID: spec.TaskID, MilestoneID: spec.MilestoneID}
	}
	live.WorktreeRel, live.WorktreeBranch = was.WorktreeRel, was.WorktreeBranch
	if err := prepareResume(ctx, w, run, spec, driver, live); err != nil {
		return order, err
	}
	return session.Order{
		WorkspaceDir: w.Dir(), ProjectID: spec.ProjectID, RunID: spec.RunID, SessionRef: spec.SessionRef, AgentID: run.AgentID, Provider: run.Provider, Argv: spec.Argv,
		RepoID: was.RepoID, WorkdirRel: was.WorkdirRel, TaskID: was.TaskID, MilestoneID: was.MilestoneID,
		Worktree: cmp.Or(spec.Worktree, tree), InPlace: spec.InPlace, Budget: spec.Budget, Live: live, Env: spec.Env, ModelProfile: spec.ModelProfile, MonotonicMS: w.Env.Clock.MonotonicMS(),
	}, nil
}

// inherit fills in unset fields of the spec from the run's newest session. driver is that session's
// driver.
func (s *ContinueSpec) inherit(w *workspace.Workspace, run doc.Run) (driver string, err error) {
	known := doc.ProviderNamed(run.Provider)
	before := run.Live
	if before == nil {
		before = &doc.Live{}
	}
	s.Live.Driver = cmp.Or(s.Live.Driver, before.Driver, known.Live)
	s.SessionRef = cmp.Or(s.SessionRef, fmt.Sprintf("%s_%d", session.LocalRef(run.ID), sessionsOf(run)+1))
	if run.Spec != nil {
		s.TaskID = run.Spec.TaskID
	}
	s.ModelProfile = cmp.Or(s.ModelProfile, run.ModelProfile)
	if s.Live.Driver == "" || s.Live.Driver == session.DriverCommand {
		words, err := CommandTemplate(w, run)
		if err != nil {
			return "", err
		}
		if len(words) == 0 {
			return "", fault.New(fault.RunNotResumable, "run %s is one of a command: nothing can be said to it", run.ID)
		}
		s.Live.Driver = session.DriverCommand
		return before.Driver, nil
	}
	if err := s.inheritNewest(w, run); err != nil {
		return "", err
	}
	if s.Live.Interactive == nil {
		s.Live.Interactive = &before.Interactive
	}
	if s.Live.KeepOpen == nil {
		s.Live.KeepOpen = &before.KeepOpen
	}
	if before.IdleTimeoutMS != nil && s.Live.IdleMS == 0 && isTrue(s.Live.KeepOpen) {
		s.Live.IdleMS = *before.IdleTimeoutMS
	}
	if level := s.Live.Level; level != "" && run.Live != nil && isHigher(level, before.Policy.PermissionLevel) && !MayRaise(s.Actor.Role) {
		return "", fault.New(fault.ExceedsPermissionLevel, "permission level %s is above %s, that of the run", level, before.Policy.PermissionLevel).With(levelData{before.Policy.PermissionLevel})
	}
	return before.Driver, nil
}

// inheritNewest fills in unset fields from the record of the newest session: whether its agent had
// ac's own tools, and its timeouts for permissions and questions.
func (s *ContinueSpec) inheritNewest(w *workspace.Workspace, run doc.Run) error {
	records, err := session.NamedAfter(w, "")
	var newest doc.Session
	for _, r := range records {
		if r.ProjectID == run.ProjectID && r.RunID == run.ID && r.StartedAtMS >= newest.StartedAtMS {
			newest = r
		}
	}
	if s.Live.MCP == nil {
		s.Live.MCP = &newest.MCP
	}
	if s.Live.LaunchJobs == nil && *s.Live.MCP {
		s.Live.LaunchJobs = &newest.MCPLaunchJobs
	}
	s.Live.PermissionMS = cmp.Or(s.Live.PermissionMS, newest.PermissionTimeoutMS)
	s.Live.QuestionMS = cmp.Or(s.Live.QuestionMS, newest.QuestionTimeoutMS)
	return err
}

// isHigher reports whether level a is higher than level b.
func isHigher(a, b doc.Level) bool {
	order := map[doc.Level]int{doc.LevelReadOnly: 0, doc.LevelPatch: 1, doc.LevelRunCommands: 2, doc.LevelFull: 3}
	return order[a] > order[b]
}

// prepareResume decides what the agent will remember: its own conversation, and a digest as the
// fallback if the agent cannot find that conversation.
func prepareResume(ctx context.Context, w *workspace.Workspace, run doc.Run, spec *ContinueSpec, before string, live *session.LiveOrder) error {
	fold := transcript.NewBrief(spec.ProjectID)
	seq, compacted := int64(0), false // compacted to a digest, with no turn since
	err := session.EachEvent(w, workspace.LogFile(spec.ProjectID, spec.RunID), func(kind string, line []byte) {
		seq++
		fold.Advance(seq, line)
		switch kind {
		case events.Compacted:
			compacted = bytes.Contains(line, []byte(`"how":"`+session.CompactDigest+`","ok":true`))
		case events.TurnStarted:
			compacted = false
		}
	})
	if err != nil {
		return err
	}
	thread := run.ProviderSessionID
	own := thread != "" && live.Driver != session.DriverCommand && (before == live.Driver || before == "" && live.Driver != session.DriverACP)
	switch {
	case spec.Resume == ResumeProvider && !own:
		why := fmt.Sprintf("run %s has no conversation that its agent could go on with", run.ID)
		return fault.New(fault.ResumeFailed, "%s", why).With(errorData{why})
	case own && spec.Resume != ResumeDigest && (!compacted || spec.Resume == ResumeProvider):
		live.Thread, live.MustResume = thread, spec.Resume == ResumeProvider
		live.Baseline = baseline(run)
	}
	if live.Preamble = fold.Digest(spec.RunID); live.Preamble != "" {
		live.Digest = path.Join("runs", spec.RunID, "outputs", fmt.Sprintf("digest-%d.md", sessionsOf(run)+1))
	}
	return context.Cause(ctx)
}

// errorData is the error data of fault.ResumeFailed.
type errorData struct {
	Error string `json:"error"`
}

// failedToContinue returns the error of a session that ended before its conversation was
// established.
func failedToContinue(record doc.Session) error {
	failed := fault.New(fault.Reason(cmp.Or(record.Reason, string(fault.Internal))), "%s", record.Error)
	if record.Reason == string(fault.ResumeFailed) {
		failed = failed.With(errorData{record.Error})
	}
	return failed
}

// baseline returns the usage of a run's conversation at the end of its newest session.
func baseline(run doc.Run) *doc.ThreadBaseline {
	if run.Usage == nil {
		return nil
	}
	now, prior, live := run.Usage, &doc.Usage{}, run.Live
	if live == nil {
		live = &doc.Live{}
	}
	if live.PriorUsage != nil {
		prior = live.PriorUsage
	}
	before, spent := live.ThreadBaseline, live.ThreadSpent
	if before == nil {
		before = &doc.ThreadBaseline{}
	}
	if spent == nil {
		spent = &doc.ThreadBaseline{}
	}
	return &doc.ThreadBaseline{
		InputTokens:           addGrowth(before.InputTokens, now.InputTokens, prior.InputTokens, spent.InputTokens),
		CachedInputTokens:     addGrowth(before.CachedInputTokens, now.CachedInputTokens, prior.CachedInputTokens, spent.CachedInputTokens),
		OutputTokens:          addGrowth(before.OutputTokens, now.OutputTokens, prior.OutputTokens, spent.OutputTokens),
		ReasoningOutputTokens: addGrowth(before.ReasoningOutputTokens, now.ReasoningOutputTokens, prior.ReasoningOutputTokens, spent.ReasoningOutputTokens),
		TotalTokens:           addGrowth(before.TotalTokens, &now.TotalTokens, &prior.TotalTokens, spent.TotalTokens),
		CostUSD:               addGrowth(before.CostUSD, now.CostUSD, prior.CostUSD, spent.CostUSD),
	}
}

// addGrowth returns before plus what the last session added to the conversation. That is the current
// total minus the usage of earlier sessions and minus what the last session spent on another
// conversation.
func addGrowth[N int64 | float64](before, now, prior, spent *N) *N {
	if now == nil {
		return before
	}
	sum := *now
	for _, less := range []*N{prior, spent} {
		if less != nil {
			sum = max(0, sum-*less)
		}
	}
	if before != nil {
		sum += *before
	}
	return &sum
}

// awaitEstablished waits until the conversation of a session is established, for at most
// establishWithin.
func awaitEstablished(ctx context.Context, w *workspace.Workspace, order session.Order) (ContinueResult, error) {
	result := ContinueResult{SessionRef: order.SessionRef, Resumed: "pending"}
	ctx, cancel := context.WithTimeout(ctx, establishWithin)
	defer cancel()
	for {
		record, err := session.Read(w, order.SessionRef)
		if err != nil {
			return result, err
		}
		if record.Resumed != "" || doc.Terminal(record.Status) {
			run, err := Load(w, order.ProjectID, order.RunID)
			result.Session, result.Turn, result.ThreadID, result.ResumeError = sessionsOf(run), record.Turn, record.ThreadID, record.ResumeError
			if result.Resumed = cmp.Or(record.Resumed, "no"); record.Resumed == "" && err == nil {
				err = failedToContinue(record)
			}
			return result, err
		}
		select {
		case <-ctx.Done():
			run, err := Load(w, order.ProjectID, order.RunID)
			result.Session = sessionsOf(run)
			return result, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
