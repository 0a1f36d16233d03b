package fullscreen

// The rows of the room, converted for ac top.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/top"
	"ac/company"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/snapshot/room"
	"ac/workspace"
	"ac/workspace/doc"
)

// roomTables holds the current rows of the room, built from its frames.
type roomTables struct {
	*cli.Call

	rows   map[room.Key]*topRow
	talked bool // conversations changed since the last read
}

// topRow is a row: its raw fields, and their decoded form, nil until first read.
type topRow struct {
	fields  map[string]json.RawMessage
	decoded any
}

// apply applies a frame.
func (t *roomTables) apply(f room.Frame) error {
	if f.Full && len(f.Set) > 0 && f.Set[0].Table != room.TableRuns {
		clear(t.rows)
	}
	for _, d := range f.Del {
		delete(t.rows, d.Key)
		t.talked = t.talked || d.Table == room.TableTalk
	}
	for _, c := range f.Set {
		row := t.rows[c.Key]
		if row == nil {
			row = &topRow{fields: map[string]json.RawMessage{}}
			t.rows[c.Key] = row
		}
		row.decoded = nil
		t.talked = t.talked || c.Table == room.TableTalk
		for name, value := range c.Fields {
			if value == nil || bytes.Equal(value, []byte("null")) {
				delete(row.fields, name)
			} else {
				row.fields[name] = value
			}
		}
	}
	return nil
}

// read decodes a row, once after each change.
func read[R any](kept *topRow) (row R, err error) {
	if row, ok := kept.decoded.(R); ok {
		return row, nil
	}
	text, err := json.Marshal(kept.fields)
	if err == nil {
		err = json.Unmarshal(text, &row)
	}
	if err == nil {
		kept.decoded = row
	}
	return row, err
}

// room returns the content of the screen.
func (t *roomTables) room() (shown top.Room, err error) {
	shown = top.Room{Company: t.Company, Project: t.ProjectName}
	names, asks := map[string]string{}, map[string]string{}
	var runKeys, needKeys []room.Key
	today := snapshotToday{}
	people := map[string]room.Person{}
	for key, kept := range t.rows {
		switch key.Table {
		case room.TableRuns:
			runKeys = append(runKeys, key)
		case room.TableNeeds:
			needKeys = append(needKeys, key)
		case room.TablePeople:
			p, err := read[room.Person](kept)
			if err != nil {
				return shown, err
			}
			names[key.ID] = p.Name
			people[key.ID] = p
		case room.TableProjects:
			p, err := read[room.Project](kept)
			if err != nil {
				return shown, err
			}
			today.add(p)
		}
	}
	shown.Agents = taskable(people)
	if shown.Needs, err = t.needs(needKeys, names, asks); err != nil {
		return shown, err
	}
	shown.Today = today.text()
	shown.Runs, err = t.runs(runKeys, names, asks)
	for i := range shown.Runs {
		if shown.Runs[i].Live {
			shown.Running++
		}
	}
	return shown, err
}

// taskable returns the names of the agents that can be given a run: workers that take a prompt
// first, then other roles, then those that run commands.
func taskable(people map[string]room.Person) (names []string) {
	rank := func(id string) int {
		switch p := people[id]; {
		case p.Provider == doc.WorkerCmd:
			return 2 // its agent runs commands
		case p.Role != "worker" || strings.HasPrefix(id, workspace.SecretaryPrefix):
			return 1
		}
		return 0
	}
	ids := slices.SortedFunc(maps.Keys(people), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(people[a].Name, people[b].Name), cmp.Compare(a, b))
	})
	for _, id := range ids {
		names = append(names, people[id].Name)
	}
	return names
}

// snapshotToday sums up today's usage of the projects in the room.
type snapshotToday struct {
	tokens int64
	cost   *float64
}

func (s *snapshotToday) add(p room.Project) {
	s.tokens += p.TokensToday
	if p.CostToday != nil {
		s.cost = new(*cmp.Or(s.cost, new(float64)) + *p.CostToday)
	}
}

// text returns the cost, or the tokens if nothing has a price. It returns "" if nothing was used.
func (s *snapshotToday) text() string {
	switch {
	case s.cost != nil:
		return terminal.FormatCost(s.cost)
	case s.tokens > 0:
		return terminal.FormatTokens(s.tokens) + " tokens"
	}
	return ""
}

// needs returns the needs in the order of the inbox. It records the first request of each run in
// asks.
func (t *roomTables) needs(keys []room.Key, names, asks map[string]string) ([]top.Need, error) {
	known := make([]needs.Need, 0, len(keys))
	ids := make([]string, 0, len(keys))
	for _, key := range keys {
		n, err := read[needs.Need](t.rows[key])
		if err != nil {
			return nil, err
		}
		n.NeedID = key.ID
		if slices.Contains(needs.DecisionKinds(), n.Kind) {
			known, ids = append(known, n), append(ids, n.Ref())
		}
	}
	slices.SortFunc(known, func(a, b needs.Need) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.At, b.At), cmp.Compare(a.NeedID, b.NeedID))
	})
	short := cli.Endings(ids)
	shown := make([]top.Need, len(known))
	for i, n := range known {
		at, _ := clock.Parse(n.At)
		expires, _ := clock.Parse(n.ExpiresAt)
		shown[i] = top.Need{
			ID: n.NeedID, Short: short[n.Ref()], Kind: n.Kind, From: cmp.Or(names[n.Who], n.Who), Title: n.Title,
			RunID: n.RunID, At: at, Expires: expires, Asks: n.Group == needs.GroupAsks || n.Kind == needs.Help,
		}
		if n.Group == needs.GroupAsks && asks[n.RunID] == "" {
			asks[n.RunID] = n.NeedID
		}
	}
	return shown, nil
}

// runs returns the runs in the order of ac ps: live ones first, then the newest.
func (t *roomTables) runs(keys []room.Key, names, asks map[string]string) ([]top.Run, error) {
	short := cli.Endings(slices.Collect(func(yield func(string) bool) {
		for _, key := range keys {
			if !yield(key.ID) {
				return
			}
		}
	}))
	shown := make([]top.Run, len(keys))
	unicode := terminal.Unicode(os.Getenv)
	for i, key := range keys {
		r, err := read[room.Run](t.rows[key])
		if err != nil {
			return nil, err
		}
		row := company.RoomRunRow(key.ID, r)
		sign, colour := cli.StateSign(&row, unicode)
		at, _ := clock.Parse(r.At)
		shown[i] = top.Run{
			ID: key.ID, Short: short[key.ID], Sign: sign, State: row.State, Colour: colour, Agent: cmp.Or(names[r.Agent], r.Agent),
			What: r.Title, Place: strings.Join(slices.DeleteFunc([]string{r.Provider, r.Model}, func(s string) bool { return s == "" }), " "),
			At: at, Tokens: cli.Tokens(&row), Cost: terminal.FormatCost(row.CostUSD), Live: row.Live(), Need: asks[key.ID],
		}
	}
	slices.SortFunc(shown, func(a, b top.Run) int {
		if a.Live != b.Live {
			return map[bool]int{true: -1, false: 1}[a.Live]
		}
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID))
	})
	return shown, nil
}
