package fullscreen

// The data and actions of ac top: the operations of the short commands.

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/cmd/ac/porcelain/oversight"
	"ac/cmd/ac/porcelain/work"
	"ac/cmd/ac/top"
	"ac/company"
	"ac/company/decisions"
	"ac/company/maintenance"
	"ac/company/workforce"
	"ac/conversation"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/snapshot/room"
)

const (
	// gathered is how long changes are batched before they are shown.
	gathered = 50 * time.Millisecond
	// mostTopRuns is the maximum number of runs on the screen.
	mostTopRuns = 3000
	// topCostDays is how many days the cost pane shows.
	topCostDays = 14
	// healthMaxAge is how long the result of a health check is cached.
	healthMaxAge = time.Minute
	// floodDelay is how long output is batched for a run that prints more than unreadable lines in the
	// meantime. Nobody can read that much, so few frames are drawn.
	floodDelay = 250 * time.Millisecond
	floodLines = 100
	// keptLines is how many lines of a transcript the screen keeps.
	keptLines = 2000
)

// topSource is the data source of ac top. It is safe for concurrent use.
type topSource struct {
	base cli.Call // copied for each call

	mu    sync.Mutex
	seen  map[string]decisions.NeedResult // what was shown for each need, by id
	talks map[string]workforce.TalkRow

	healthy string // result of the check at lookAt
	lookAt  time.Time
}

func newTopSource(c *cli.Call) *topSource {
	base := *c
	base.Color, base.NoPager, base.AsJSON, base.Pace = "never", true, false, gathered
	return &topSource{base: base, seen: map[string]decisions.NeedResult{}, talks: map[string]workforce.TalkRow{}}
}

// call returns a short command's call for one action. Its output goes to out.
func (t *topSource) call(ctx context.Context, out io.Writer) *cli.Call {
	c, app := t.base, *t.base.App
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), out, io.Discard
	c.App, c.Ctx, c.Now = &app, ctx, t.base.All.Now()
	return &c
}

// Follow sends the room, and sends it again after each change.
func (t *topSource) Follow(ctx context.Context, send func(top.Room)) error {
	c := t.call(ctx, io.Discard)
	entered, err := c.All.In(c.Dir).Enter(ctx)
	if err != nil {
		return err
	}
	kept := roomTables{Call: c, rows: map[room.Key]*topRow{}, talked: true}
	var talks []top.Conversation
	return entered.FollowRoom(ctx, company.RoomStream{
		Filter: room.Filter{Project: c.Project}, RunsLimit: mostTopRuns,
		Deliver: func(ctx context.Context, _ string, f room.Frame) error {
			if err := kept.apply(f); err != nil || f.More {
				return err
			}
			shown, err := kept.room()
			if err != nil {
				return err
			}
			shown.Health = t.health(c)
			if kept.talked {
				if talks, err = t.listTalks(c); err != nil {
					return err
				}
				kept.talked = false
			}
			shown.Conversations = talks
			send(shown)
			_ = execution.PauseFor(ctx, gathered) // if ctx ended, the stream ends
			return nil
		},
	})
}

// health returns the worst finding of the cheap checks, "ok" if there is none. It caches the
// result.
func (t *topSource) health(c *cli.Call) string {
	if now := c.All.Now(); t.lookAt.IsZero() || now.Sub(t.lookAt) > healthMaxAge {
		t.lookAt, t.healthy = now, ""
		health, err := company.Do(c.Ctx, c.All, maintenance.Folder.Glance, c.DirParam())
		if err != nil {
			return ""
		}
		t.healthy = health.Status
		for _, f := range health.Findings {
			if f.Status == health.Status {
				t.healthy += ": " + f.ID
				break
			}
		}
	}
	return t.healthy
}

// listTalks returns the conversations, newest first.
func (t *topSource) listTalks(c *cli.Call) ([]top.Conversation, error) {
	rows, err := oversight.Talks(c)
	if err != nil {
		return nil, err
	}
	names, err := oversight.ReadAgentNames(c)
	list := make([]top.Conversation, len(rows))
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range rows {
		at, _ := clock.Parse(cli.OrEmpty(r.LastAt))
		list[i] = top.Conversation{ID: r.ConversationID, Name: oversight.ChannelName(&rows[i]), LastBy: names.Of(cli.OrEmpty(r.LastBy)), LastAt: at}
		t.talks[r.ConversationID] = r
	}
	return list, err
}

// Watch sends the last lines of a run's transcript, again after each change.
func (t *topSource) Watch(ctx context.Context, id string, send func([]top.Line)) error {
	tail := &tailLines{news: make(chan struct{}, 1)}
	c := t.call(ctx, tail)
	row, err := c.Run(id)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-tail.news:
			}
			send(tail.lines())
			rest := gathered
			if tail.cameSince() > floodLines {
				rest = floodDelay
			}
			_ = execution.PauseFor(ctx, rest)
		}
	})
	_, err = work.Show(ctx, c, &row, 0, keptLines, tail, tail)
	if ctx.Err() == nil {
		send(tail.lines())
	}
	<-ctx.Done()
	return err
}

// tailLines is a writer that keeps the last lines written to it.
type tailLines struct {
	news chan struct{}

	mu   sync.Mutex
	text []byte
	came int // lines since the last call of cameSince
}

// Write appends text and never fails.
func (l *tailLines) Write(text []byte) (int, error) {
	const most = 1 << 20
	l.mu.Lock()
	l.text = append(l.text, text...)
	l.came += bytes.Count(text, []byte("\n"))
	if len(l.text) > 2*most {
		l.text = append([]byte(nil), l.text[len(l.text)-most:]...)
	}
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(text), nil
}

func (l *tailLines) lines() []top.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := bytes.TrimSuffix(l.text, []byte("\n"))
	parts := strings.Split(string(text[tailAt(text, keptLines):]), "\n")
	lines := make([]top.Line, len(parts))
	for i, p := range parts {
		lines[i] = top.Line{Text: strings.TrimSuffix(p, "\r")}
		if strings.HasPrefix(lines[i].Text, "? ") {
			lines[i].Colour = terminal.BoldYellow
		}
	}
	return lines
}

// cameSince returns the number of lines since its last call.
func (l *tailLines) cameSince() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	came := l.came
	l.came = 0
	return came
}

// tailAt returns the offset of the last n lines of a text.
func tailAt(text []byte, n int) int {
	at := len(text)
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return at + 1
}

// linesOf converts the output of a command to lines, with colors for diffs.
func linesOf(text string) (lines []top.Line) {
	for line := range strings.Lines(text) {
		l := top.Line{Text: strings.TrimRight(line, "\n")}
		switch bare := strings.TrimLeft(l.Text, " "); {
		case strings.HasPrefix(bare, "@@"):
			l.Colour = terminal.Cyan
		case strings.HasPrefix(bare, "+"):
			l.Colour = terminal.Green
		case strings.HasPrefix(bare, "-"):
			l.Colour = terminal.Red
		}
		lines = append(lines, l)
	}
	return lines
}

// Proof returns what a person has to see before deciding on a need.
func (t *topSource) Proof(ctx context.Context, id string, width int) (proof top.Proof, err error) {
	var out bytes.Buffer
	c := t.call(ctx, &out)
	c.Columns = width
	n, err := oversight.Need(c, id)
	if err != nil {
		return proof, err
	}
	defer c.All.ForgetTranscripts()
	seen, err := oversight.Proof(c, n)
	if err == nil {
		err = oversight.ShowNeed(c, seen)
	}
	if err != nil {
		return proof, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[id] = seen
	proof.Lines = linesOf(out.String())
	if seen.Proof.Delta != nil {
		proof.Hash = seen.Proof.Delta.Hash
	}
	if asked := seen.Proof.Interaction; asked != nil {
		for _, o := range asked.Options {
			proof.Choices = append(proof.Choices, o.Label)
		}
		if len(asked.Questions) == 1 {
			proof.Choices = nil
			for _, o := range asked.Questions[0].Options {
				proof.Choices = append(proof.Choices, o.Label)
			}
		}
	}
	return proof, nil
}

// shown returns what was shown of a need. If nothing was, it reads the need now.
func (t *topSource) shown(ctx context.Context, id string) (decisions.NeedResult, error) {
	t.mu.Lock()
	seen, ok := t.seen[id]
	t.mu.Unlock()
	if ok {
		return seen, nil
	}
	c := t.call(ctx, io.Discard)
	n, err := oversight.Need(c, id)
	if err != nil {
		return seen, err
	}
	return oversight.Proof(c, n)
}

// Plan returns the chart of the project.
func (t *topSource) Plan(ctx context.Context, width int) ([]top.Line, error) {
	c := t.call(ctx, io.Discard)
	c.Columns = width
	if err := c.RequireProject(); err != nil {
		return []top.Line{{Text: err.Error()}}, nil //nolint:nilerr // it says which projects there are
	}
	schedule, err := company.Do(ctx, c.All, workforce.Operations.Schedule, company.ProjectParams{Dir: c.DirParam(), ProjectID: c.Project})
	switch {
	case err != nil:
		return nil, err
	case len(schedule.Plan.Bars) == 0:
		return []top.Line{{Text: "No tasks yet: ac tasks add TITLE"}}, nil
	}
	lines, err := oversight.Chart(c, &schedule.Plan, 0)
	return linesOf(strings.Join(lines, "\n")), err
}

// Messages returns the last messages of a conversation.
func (t *topSource) Messages(ctx context.Context, id string) (lines []top.Line, err error) {
	c := t.call(ctx, io.Discard)
	p := workforce.MessagesParams{Dir: c.DirParam(), ConversationID: id, Scope: t.scopeOfTalk(id), Limit: oversight.ShownMessages}
	messages, err := company.Do(ctx, c.All, workforce.Operations.Messages, p)
	if err != nil {
		return nil, err
	}
	names, err := oversight.ReadAgentNames(c)
	for _, m := range messages {
		lines = append(lines, top.Line{Text: oversight.TalkLine(m, names)})
	}
	return lines, err
}

func (t *topSource) scopeOfTalk(id string) workforce.Scope {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row, ok := t.talks[id]; ok && row.ProjectID != nil {
		return workforce.Scope{Scope: conversation.ScopeProject, ProjectID: *row.ProjectID}
	}
	return workforce.Scope{Scope: conversation.ScopeWorkspace}
}

// Changes returns the summary and the diff of what landing a run would bring.
func (t *topSource) Changes(ctx context.Context, id string) (string, []top.Line, error) {
	var out bytes.Buffer
	c := t.call(ctx, &out)
	row, err := c.Run(id)
	if err != nil {
		return "", nil, err
	}
	p := decisions.ChangesParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows"}
	changed, err := company.Do(ctx, c.All, decisions.Operations.Changes, p)
	if err != nil {
		return "", nil, err
	}
	if err := work.Diff(c, &row, nil, false); err != nil {
		return "", nil, err
	}
	stat := strings.Split(strings.TrimSpace(work.Stat(c, &row, changed.Files)), "\n")
	return stat[len(stat)-1], linesOf(out.String()), nil
}
