package decisions

// run.land: landing the work of a run as one commit.

import (
	"context"
	"strings"
	"unicode/utf8"

	"ac/company"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/runs"
)

// maxSubject bounds the generated subject line of a commit message, in characters.
const maxSubject = 72

// LandRunParams are the params of run.land.
type LandRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
	Message   string `json:"message,omitempty" is:"optional,maxbytes=65536"`
	// Into is the branch, by default the one that is checked out.
	Into   string `json:"into,omitempty" is:"optional,maxbytes=1000"`
	Keep   bool   `json:"keep" is:"default=false"`
	DryRun bool   `json:"dry_run" is:"default=false"`
	company.FilesActor
}

// CheckFields rejects messages that git would reject.
func (p *LandRunParams) CheckFields() []fault.Issue {
	if strings.ContainsRune(p.Message, 0) {
		return []fault.Issue{{Path: []any{"message"}, Code: "custom", Message: "must not contain NUL"}}
	}
	return nil
}

// LandRun lands the work of a run on a branch as one commit; see files.Service.Land.
func (c Operations) LandRun(ctx context.Context, p LandRunParams) (files.Landing, error) {
	s, err := c.proposals()
	if err != nil {
		return files.Landing{}, err
	}
	s.Idle = func(project, run string) bool { return c.idles(ctx, project, run) }
	order := files.LandOrder{
		ProjectID: p.ProjectID, RunID: p.RunID, Message: p.Message, Into: p.Into, Keep: p.Keep, DryRun: p.DryRun, Actor: p.Actor(),
	}
	if strings.TrimSpace(order.Message) == "" {
		order.Message = c.subject(p.ProjectID, p.RunID)
	}
	defer c.Host().ForgetChanges()
	return s.Land(ctx, order)
}

// subject returns what a run was asked to do, as the subject line of a message, "" if unknown.
func (c Operations) subject(project, id string) string {
	run, err := runs.Load(c.Workspace(), project, id)
	if err != nil || run.Spec == nil {
		return ""
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			return -1
		}
		return r
	}, c.What(run))
	if letters := []rune(text); len(letters) > maxSubject {
		text = strings.TrimSpace(string(letters[:maxSubject]))
	}
	return text
}

// idles reports whether the session of a run waits for its next turn. A session with an
// unreadable log does not count as waiting.
func (c Operations) idles(ctx context.Context, project, run string) bool {
	idle, err := c.Host().Logs().Idles(ctx, c.Workspace(), project, run)
	return idle && err == nil
}
