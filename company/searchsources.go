package company

// What search covers: runs with their transcripts, tasks, people, artifacts,
// conversations, comments and help requests.

import (
	"cmp"
	"context"
	"encoding/base32"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"ac/conversation"
	"ac/feed"
	"ac/governance"
	"ac/index/search"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/pm"
	"ac/runs"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// searchAge is the age from which items of transcripts are left out.
	searchAge = 180 * 24 * time.Hour
	// searchOutput bounds how much of a tool's output is searched, in bytes. The end is searched.
	searchOutput = 2 << 10
)

// searchSources lists everything that search covers.
type searchSources struct{ c *Company }

// all lists the sources: documents first, then runs, newest first.
func (s searchSources) all(ctx context.Context) ([]search.Source, error) {
	w := s.c.w
	agents, err := w.Agents()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, a := range agents {
		names[a.ID] = a.Name
	}
	list := s.people(agents)
	help, err := s.help()
	if err != nil {
		return nil, err
	}
	list = append(list, help...)
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	decided, err := s.decisions()
	if err != nil {
		return nil, err
	}
	var ofRuns []search.Source
	for _, project := range append([]string{""}, projects...) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts := []func(string) ([]search.Source, error){s.messages}
		if project != "" {
			parts = append(parts, s.tasks, s.comments, func(project string) ([]search.Source, error) { return s.artifacts(project, decided) })
		}
		for _, part := range parts {
			found, err := part(project)
			if err != nil {
				return nil, err
			}
			list = append(list, found...)
		}
		if project != "" {
			found, err := s.runs(project, names)
			if err != nil {
				return nil, err
			}
			ofRuns = append(ofRuns, found...)
		}
	}
	slices.SortFunc(ofRuns, func(a, b search.Source) int { return cmp.Compare(b.Ref, a.Ref) })
	return append(list, ofRuns...), nil
}

// version returns a text that changes when one of the files changes, "" if none exists.
func (s searchSources) version(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if st, err := s.c.w.FS.Lstat(name); err == nil && st.Mode().IsRegular() {
			fmt.Fprintf(&b, "%x.%x;", st.Size(), st.ModTime().UnixNano())
		}
	}
	return b.String()
}

// wholeRows returns a reader for a source that is always read as a whole.
func wholeRows(read func() ([]search.Row, error)) func(context.Context, int64, int) (search.Rows, error) {
	return func(context.Context, int64, int) (search.Rows, error) {
		list, err := read()
		if err != nil {
			return search.Rows{ReplaceAll: true}, nil //nolint:nilerr // what cannot be read is not found
		}
		return search.Rows{List: list, ReplaceAll: true}, nil
	}
}

func millis(stamp string) int64 {
	at, ok := clock.Parse(stamp)
	if !ok {
		return 0
	}
	return at.UnixMilli()
}

func (s searchSources) people(agents []doc.Agent) (list []search.Source) {
	for _, a := range agents {
		list = append(list, search.Source{
			Name: "person/" + a.ID, Version: encodeTexts(a.Name, a.Role, a.TeamID, a.Provider), Kind: search.KindPerson, Ref: a.ID, Agent: a.ID + " " + a.Name, At: millis(a.CreatedAt),
			Rows: wholeRows(func() ([]search.Row, error) {
				return []search.Row{{
					Kind: search.KindPerson, Ref: a.ID, Title: a.Name, Body: strings.Join([]string{a.ID, a.Role, a.TeamID, a.Provider, a.DisplayTitle}, " "), At: millis(a.CreatedAt),
				}}, nil
			}),
		})
	}
	return list
}

// encodeTexts encodes several texts as one printable text. Different texts get different
// encodings.
func encodeTexts(parts ...string) string {
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(strings.Join(parts, "\x00")))
}

func (s searchSources) tasks(project string) (list []search.Source, err error) {
	w := s.c.w
	tasks, err := w.Tasks(project)
	for _, t := range tasks {
		list = append(list, search.Source{
			Name: path.Join("task", project, t.ID), Version: s.version(workspace.TaskFile(project, t.ID)), Kind: search.KindTask, Ref: t.ID, Project: project,
			Agent: t.AssigneeAgentID, Status: t.Status, At: millis(t.CreatedAt),
			Rows: wholeRows(func() ([]search.Row, error) {
				_, body, err := pm.ReadTask(w, project, t.ID)
				if err != nil {
					return nil, err
				}
				at := millis(t.CreatedAt)
				rows := []search.Row{{Kind: search.KindTask, Ref: t.ID, Title: t.Title, Body: t.ID + " " + string(body), At: at}}
				for i, m := range t.Milestones {
					rows = append(rows, search.Row{
						Number: int64(i + 1), Kind: search.KindMilestone, Ref: m.ID, Title: m.Title, Body: strings.Join(m.AcceptanceCriteria, "\n"), At: at,
					})
				}
				return rows, nil
			}),
		})
	}
	return list, err
}

// decisions returns the newest decision on each artifact.
func (s searchSources) decisions() (map[governance.Item]doc.Review, error) {
	reviews, err := governance.Reviews(s.c.w, noLimit)
	newest := map[governance.Item]doc.Review{}
	for _, r := range reviews {
		item := governance.Item{ProjectID: r.Subject.ProjectID, ArtifactID: r.Subject.ArtifactID}
		if _, known := newest[item]; !known {
			newest[item] = r
		}
	}
	return newest, err
}

func (s searchSources) artifacts(project string, decided map[governance.Item]doc.Review) (list []search.Source, err error) {
	w := s.c.w
	heads, err := governance.Artifacts(w, project)
	for _, a := range heads {
		review := decided[governance.Item{ProjectID: project, ArtifactID: a.ID}]
		list = append(list, search.Source{
			Name: path.Join("artifact", project, a.ID), Version: s.version(governance.ArtifactFile(project, a.ID)) + review.ID, Kind: search.KindArtifact, Ref: a.ID, Project: project,
			Agent: a.ProducedBy, At: millis(a.CreatedAt), Guard: a.Visibility + guardCut + a.ProducedBy,
			Rows: wholeRows(func() ([]search.Row, error) {
				record, err := governance.ReadArtifact(w, project, a.ID)
				if err != nil {
					return nil, err
				}
				body := a.ID + " " + string(record.Body)
				if review.Notes != nil {
					body = *review.Notes + "\n" + body
				}
				return []search.Row{{Kind: search.KindArtifact, Ref: a.ID, Run: a.RunID, Title: a.Title, Body: body, At: millis(a.CreatedAt)}}, nil
			}),
		})
	}
	return list, err
}

func (s searchSources) help() (list []search.Source, err error) {
	w := s.c.w
	requests, err := governance.HelpRequests(w, noLimit)
	for _, h := range requests {
		list = append(list, search.Source{
			Name: "help/" + h.ID, Version: s.version(governance.HelpRequestFile(h.ID)), Kind: search.KindHelp, Ref: h.ID, Project: h.ProjectID,
			Agent: h.Requester, At: millis(h.CreatedAt), Guard: h.Visibility + guardCut + h.Requester,
			Rows: wholeRows(func() ([]search.Row, error) {
				text, err := governance.Help(w, h.ID)
				return []search.Row{{Kind: search.KindHelp, Ref: h.ID, Title: h.Title, Body: text.Question + "\n" + text.Response, At: millis(h.CreatedAt)}}, err
			}),
		})
	}
	return list, err
}

func (s searchSources) comments(project string) (list []search.Source, err error) {
	comments, err := governance.ReadComments(s.c.w, governance.CommentFilter{CommentTarget: doc.CommentTarget{ProjectID: project}, Limit: noLimit})
	for _, c := range comments {
		on := cmp.Or(c.Target.RunID, c.Target.ArtifactID, c.Target.AgentID)
		list = append(list, search.Source{
			Name: "comment/" + c.ID, Version: c.CreatedAt, Kind: search.KindComment, Ref: c.ID, Project: project, Agent: c.AuthorID, At: millis(c.CreatedAt), Guard: c.Visibility + guardCut + c.AuthorID,
			Rows: wholeRows(func() ([]search.Row, error) {
				return []search.Row{{Kind: search.KindComment, Ref: c.ID, Run: c.Target.RunID, Title: "on " + on, Body: c.Body, At: millis(c.CreatedAt)}}, nil
			}),
		})
	}
	return list, err
}

// messages lists the conversations of a project, or those of the workspace if project is "".
func (s searchSources) messages(project string) (list []search.Source, err error) {
	w, space := s.c.w, conversation.Space{Project: project}
	conversations, err := conversation.List(w, space)
	if fault.Is(err, fault.NotFound) {
		return nil, nil // the folder is not a project
	}
	for _, conv := range conversations {
		file := path.Join(space.Dir(conv.ID), workspace.MessagesFile)
		version := s.version(file)
		if version == "" {
			continue // no messages yet
		}
		list = append(list, search.Source{
			Name: path.Join("talk", project, conv.ID), Version: version, Kind: search.KindMessage, Ref: conv.ID, Project: project, At: millis(conv.CreatedAt), Guard: conv.Visibility + guardCut,
			Rows: wholeRows(func() ([]search.Row, error) {
				said, err := conversation.Newest(w, space, conv.ID, mostSearched)
				rows := make([]search.Row, 0, len(said))
				for i, m := range said {
					rows = append(rows, search.Row{Number: int64(i), Kind: search.KindMessage, Ref: m.ID, Title: conv.Name, Body: m.Body, At: millis(m.CreatedAt)})
				}
				return rows, err
			}),
		})
	}
	return list, err
}

// mostSearched bounds how many messages of a conversation are searched.
const mostSearched = 20_000

func (s searchSources) runs(project string, names map[string]string) (list []search.Source, err error) {
	w := s.c.w
	ids, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		run, err := runs.Load(w, project, id)
		if err != nil {
			continue // no readable record
		}
		list = append(list, search.Source{
			Name: path.Join("run", project, id), Version: s.version(workspace.RunFile(project, id), workspace.LogFile(project, id)), Kind: search.KindRun, Ref: id, Project: project,
			Agent: run.AgentID + " " + names[run.AgentID], Status: run.Status, At: millis(run.CreatedAt),
			Rows: func(ctx context.Context, since int64, limit int) (search.Rows, error) {
				return s.transcript(ctx, run, names[run.AgentID], since, limit)
			},
		})
	}
	return list, nil
}

// transcript returns the rows of a run: one for the run itself, and one for each transcript item
// that closed after position since. It does not cache the transcripts of finished runs.
func (s searchSources) transcript(ctx context.Context, run doc.Run, agent string, since int64, limit int) (rows search.Rows, err error) {
	logs := s.c.host.logs
	if doc.Terminal(run.Status) {
		logs = feed.NewLogs()
	}
	title := "run " + run.ID
	if run.Spec != nil { // it was launched
		title = s.c.What(run)
	}
	rows.List = []search.Row{{
		Kind: search.KindRun, Ref: run.ID, Run: run.ID, Title: title, Body: strings.Join([]string{run.ID, agent, run.AgentID, run.Provider}, " "), At: millis(run.CreatedAt),
	}}
	oldest := s.c.w.Env.Clock.Now().Add(-searchAge).UnixMilli()
	err = logs.Transcript(ctx, s.c.w, run.ProjectID, run.ID, nil, func(f *transcript.Fold) {
		if since > f.Seq() {
			since, rows.ReplaceAll = 0, true // the log was replaced
		}
		rows.Seq = f.Seq()
		found := closedItems(f, since, oldest)
		for i, r := range found {
			if i >= limit && r.last > found[i-1].last {
				rows.Seq, rows.More = found[i-1].last, true
				break
			}
			r.Ref, r.Run = run.ID, run.ID
			rows.List = append(rows.List, r.Row)
		}
	})
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.IO) {
		return rows, nil // no readable log
	}
	return rows, err
}

// closedItem is a row with the position at which its item closed.
type closedItem struct {
	search.Row

	last int64
}

// closedItems returns the items that closed after a position, ordered by when they closed.
func closedItems(f *transcript.Fold, since, oldest int64) (list []closedItem) {
	number, same := int64(-1), int64(0)
	for _, item := range f.Items() {
		if item.SeqFirst != number {
			number, same = item.SeqFirst, -1
		}
		same = min(same+1, 7)
		if item.State != transcript.StateClosed || item.SeqLast <= since {
			continue
		}
		title, body := searchText(item)
		at := millis(cmp.Or(item.EndedAt, item.StartedAt))
		if title+body == "" || at < oldest {
			continue
		}
		list = append(list, closedItem{search.Row{Number: number<<3 | same, Kind: search.KindRun, Seq: item.SeqFirst, Title: title, Body: body, At: at}, item.SeqLast})
	}
	slices.SortStableFunc(list, func(a, b closedItem) int { return cmp.Compare(a.last, b.last) })
	return list
}

// searchText returns the searchable text of an item.
func searchText(item *transcript.Item) (title, body string) {
	switch item.Kind {
	case transcript.KindMessage, transcript.KindNotice:
		return "", item.Text
	case transcript.KindPlan:
		steps := []string{item.Text}
		for _, step := range item.Plan {
			steps = append(steps, step.Text)
		}
		return "", strings.TrimSpace(strings.Join(steps, "\n"))
	case transcript.KindPermission, transcript.KindQuestion:
		if item.Interaction != nil {
			return item.Interaction.Title, item.Text
		}
		return "", item.Text
	case transcript.KindTool:
		if item.Tool != nil {
			output := item.Tool.OutputTail
			return item.Tool.Title, output[max(0, len(output)-searchOutput):]
		}
	}
	return "", ""
}
