package snapshot

// Usage over time: one dimension by buckets of hours, days or weeks. Reported, rated and estimated
// usage are separate.

import (
	"cmp"
	"slices"
	"time"

	"ac/governance/needs"
	"ac/index"
	"ac/index/source"
	"ac/internal/clock"
	"ac/internal/collation"
	"ac/runs/budget"
	"ac/workspace/doc"
)

// Values of Bucket and By.
const (
	BucketHour = "hour"
	BucketDay  = "day"
	BucketWeek = "week" // starts on Monday

	ByAgent    = "agent"
	ByProvider = "provider"
	ByModel    = "model"
	ByProject  = "project"
	ByTask     = "task"
)

const (
	// MostBuckets is the maximum number of buckets of a series.
	MostBuckets = 400
	// seriesKeys is the maximum number of keys of a series. If there are more, the last one is
	// otherKey.
	seriesKeys = 12
	otherKey   = "other"
	// noneKey is the key of usage without a value, such as a run without a task.
	noneKey = "none"
)

// Series is usage over time. It has every bucket of the period, even empty ones.
type Series struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Bucket  string         `json:"bucket"`
	By      string         `json:"by"`
	Keys    []SeriesKey    `json:"keys"` // highest cost first, then most tokens
	Buckets []SeriesBucket `json:"buckets"`
	Budgets []SeriesBudget `json:"budgets"`
	Totals  SeriesCell     `json:"totals"`
}

// SeriesKey is one key with its sum.
type SeriesKey struct {
	Key   string     `json:"key"`
	Name  string     `json:"name"`
	Total SeriesCell `json:"total"`
}

// SeriesBucket is a part of the period. At is its local day, with the hour if buckets are hours.
type SeriesBucket struct {
	At   string                 `json:"at"`
	Keys map[string]*SeriesCell `json:"keys"`
}

// SeriesCell is an amount of usage. A run counts as unpriced if some of its tokens have no price,
// and as silent if its provider reported no usage for some of them.
type SeriesCell struct {
	Runs   int          `json:"runs"`
	Tokens SeriesTokens `json:"tokens"`
	Cost   SeriesCost   `json:"cost"`
	// UnpricedTokens have no price. They are not part of any cost.
	UnpricedTokens int64 `json:"unpriced_tokens"`
	UnpricedRuns   int   `json:"unpriced_runs"`
	SilentRuns     int   `json:"silent_runs"`

	runs, unpriced, silent map[index.RunKey]bool
}

// SeriesTokens counts tokens by whether they were reported or estimated.
type SeriesTokens struct {
	Reported  int64 `json:"reported"`
	Estimated int64 `json:"estimated"`
}

// SeriesCost is cost by source, in US dollars: reported by the provider, computed by rate from
// reported tokens, and computed by rate from estimated tokens.
type SeriesCost struct {
	Reported  float64 `json:"reported"`
	Rate      float64 `json:"rate"`
	Estimated float64 `json:"estimated"`
}

// SeriesBudget is a budget limit: the hard one if set, else the soft one.
type SeriesBudget struct {
	Scope  string  `json:"scope"` // project or task
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Metric string  `json:"metric"` // cost_usd or tokens
	Limit  float64 `json:"limit"`
	Period string  `json:"period"` // total
}

// SeriesQuery selects a series. From and To are local days, both included. Timezone is UTC minus
// local time, in minutes.
type SeriesQuery struct {
	ProjectID string
	From, To  time.Time
	Bucket    string
	By        string
	Timezone  int
}

// Starts returns the local times at which the buckets begin, at most MostBuckets+1.
func (q *SeriesQuery) Starts() (starts []time.Time) {
	zone := time.FixedZone("", -60*q.Timezone)
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone) }
	end := day(q.To).AddDate(0, 0, 1)
	for at := day(q.From); at.Before(end) && len(starts) <= MostBuckets; {
		starts = append(starts, at)
		switch q.Bucket {
		case BucketHour:
			at = at.Add(time.Hour)
		case BucketWeek:
			at = at.AddDate(0, 0, 7-(int(at.Weekday())+6)%7)
		default:
			at = at.AddDate(0, 0, 1)
		}
	}
	return starts
}

// UsageSeries returns usage over time. Its totals equal those of a UsageReport of the same days.
func (m *View) UsageSeries(q SeriesQuery) (s Series, err error) {
	starts := q.Starts()
	s = Series{
		From: q.From.Format(time.DateOnly), To: q.To.Format(time.DateOnly), Bucket: q.Bucket, By: q.By,
		Keys: []SeriesKey{}, Buckets: make([]SeriesBucket, len(starts)), Budgets: []SeriesBudget{},
	}
	for i, at := range starts {
		s.Buckets[i] = SeriesBucket{At: at.Format(time.DateOnly), Keys: map[string]*SeriesCell{}}
		if q.Bucket == BucketHour {
			s.Buckets[i].At = at.Format("2006-01-02T15:04")
		}
	}
	first := starts[0]
	end := time.Date(q.To.Year(), q.To.Month(), q.To.Day()+1, 0, 0, 0, 0, first.Location())
	keys := map[string]*SeriesCell{}
	err = m.view.UsageRecords(index.UsageFilter{ProjectID: q.ProjectID, From: clock.Nanos(first), To: clock.Nanos(end) - 1}, func(r *index.UsageRecord) {
		at := time.Unix(0, r.At)
		n, exact := slices.BinarySearchFunc(starts, at, time.Time.Compare)
		if !exact {
			n--
		}
		key := q.keyOf(r)
		for _, cell := range []*SeriesCell{&s.Totals, cellOf(keys, key), cellOf(s.Buckets[n].Keys, key)} {
			cell.add(r)
		}
	})
	if err != nil {
		return s, err
	}
	s.Totals.close()
	if err := m.nameSeries(&s, q, keys); err != nil {
		return s, err
	}
	s.Budgets, err = m.Budgets(q.ProjectID)
	return s, err
}

// keyOf returns the key that a record counts for.
func (q *SeriesQuery) keyOf(r *index.UsageRecord) string {
	switch q.By {
	case ByAgent:
		return cmp.Or(r.AgentID, noneKey)
	case ByModel:
		return cmp.Or(r.Profile, r.Model, r.Provider)
	case ByProject:
		return r.ProjectID
	case ByTask:
		return cmp.Or(r.TaskID, noneKey)
	}
	return r.Provider
}

func cellOf(cells map[string]*SeriesCell, key string) *SeriesCell {
	if cells[key] == nil {
		cells[key] = &SeriesCell{}
	}
	return cells[key]
}

func (c *SeriesCell) add(r *index.UsageRecord) {
	if c.runs == nil {
		c.runs, c.unpriced, c.silent = map[index.RunKey]bool{}, map[index.RunKey]bool{}, map[index.RunKey]bool{}
	}
	c.runs[r.RunKey] = true
	if r.Estimated {
		c.silent[r.RunKey] = true
		c.Tokens.Estimated += r.Total
	} else {
		c.Tokens.Reported += r.Total
	}
	switch {
	case r.CostUSD == nil:
		c.UnpricedTokens += r.Total
		c.unpriced[r.RunKey] = true
	case r.CostBy == source.CostReported:
		c.Cost.Reported += *r.CostUSD
	case r.Estimated:
		c.Cost.Estimated += *r.CostUSD
	default:
		c.Cost.Rate += *r.CostUSD
	}
}

// merge adds the usage of another cell.
func (c *SeriesCell) merge(other *SeriesCell) {
	if c.runs == nil {
		c.runs, c.unpriced, c.silent = map[index.RunKey]bool{}, map[index.RunKey]bool{}, map[index.RunKey]bool{}
	}
	for _, set := range []struct{ into, from map[index.RunKey]bool }{{c.runs, other.runs}, {c.unpriced, other.unpriced}, {c.silent, other.silent}} {
		for key := range set.from {
			set.into[key] = true
		}
	}
	c.Tokens.Reported, c.Tokens.Estimated = c.Tokens.Reported+other.Tokens.Reported, c.Tokens.Estimated+other.Tokens.Estimated
	c.Cost.Reported, c.Cost.Rate, c.Cost.Estimated = c.Cost.Reported+other.Cost.Reported, c.Cost.Rate+other.Cost.Rate, c.Cost.Estimated+other.Cost.Estimated
	c.UnpricedTokens += other.UnpricedTokens
}

// close sets the run counts and rounds the costs.
func (c *SeriesCell) close() {
	c.Runs, c.UnpricedRuns, c.SilentRuns = len(c.runs), len(c.unpriced), len(c.silent)
	c.Cost = SeriesCost{micro(c.Cost.Reported), micro(c.Cost.Rate), micro(c.Cost.Estimated)}
}

// nameSeries lists the keys with their names, and merges surplus keys into otherKey.
func (m *View) nameSeries(s *Series, q SeriesQuery, keys map[string]*SeriesCell) error {
	names, err := m.seriesNames(q)
	if err != nil {
		return err
	}
	for key, cell := range keys {
		s.Keys = append(s.Keys, SeriesKey{key, cmp.Or(names[key], key), *cell})
	}
	byText := collation.Lazy()
	slices.SortFunc(s.Keys, func(a, b SeriesKey) int {
		return cmp.Or(cmp.Compare(b.Total.money(), a.Total.money()), cmp.Compare(b.Total.tokens(), a.Total.tokens()), byText(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	if len(s.Keys) > seriesKeys {
		other := SeriesKey{Key: otherKey, Name: otherKey}
		for i := range s.Keys[seriesKeys-1:] {
			rest := &s.Keys[seriesKeys-1+i]
			other.Total.merge(&rest.Total)
			for _, bucket := range s.Buckets {
				if cell := bucket.Keys[rest.Key]; cell != nil {
					delete(bucket.Keys, rest.Key)
					cellOf(bucket.Keys, otherKey).merge(cell)
				}
			}
		}
		s.Keys = append(s.Keys[:seriesKeys-1], other)
	}
	for i := range s.Keys {
		s.Keys[i].Total.close()
	}
	for _, bucket := range s.Buckets {
		for _, cell := range bucket.Keys {
			cell.close()
		}
	}
	return nil
}

func (c *SeriesCell) money() float64 { return c.Cost.Reported + c.Cost.Rate + c.Cost.Estimated }
func (c *SeriesCell) tokens() int64  { return c.Tokens.Reported + c.Tokens.Estimated }

// seriesNames returns the display names of keys that have one.
func (m *View) seriesNames(q SeriesQuery) (map[string]string, error) {
	names := map[string]string{}
	switch q.By {
	case ByAgent:
		known, err := m.view.AgentCounters()
		for _, a := range known {
			names[a.AgentID] = needs.Line(a.Name)
		}
		return names, err
	case ByProject:
		known, err := m.w.Projects()
		for _, p := range known {
			names[p.ID] = needs.Line(p.Name)
		}
		return names, err
	case ByTask:
		names[noneKey] = "no task"
		return names, m.eachTask(q.ProjectID, func(t doc.Task) { names[t.ID] = needs.Line(t.Title) })
	}
	return names, nil
}

// eachTask visits the tasks of a project, or of all projects if it is "".
func (m *View) eachTask(project string, visit func(doc.Task)) error {
	projects, err := m.w.Projects()
	if err != nil {
		return err
	}
	for _, p := range projects {
		if project != "" && p.ID != project {
			continue
		}
		tasks, err := m.w.Tasks(p.ID)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			visit(t)
		}
	}
	return nil
}

// Budgets returns the budgets of a project and its tasks. If project is "", it returns those of all
// projects, without tasks.
func (m *View) Budgets(project string) (list []SeriesBudget, err error) {
	list = []SeriesBudget{}
	add := func(scope, id, name string, b *doc.Budget) {
		if b == nil {
			return
		}
		one := SeriesBudget{Scope: scope, ID: id, Name: needs.Line(name), Period: "total"}
		if limit := cmp.Or(b.HardCostUSD, b.SoftCostUSD); limit != nil {
			one.Metric, one.Limit = budget.MetricCost, *limit
			list = append(list, one)
		}
		if limit := cmp.Or(b.HardTokens, b.SoftTokens); limit != nil {
			one.Metric, one.Limit = budget.MetricTokens, float64(*limit)
			list = append(list, one)
		}
	}
	projects, err := m.w.Projects()
	for _, p := range projects {
		if project == "" || p.ID == project {
			add(budget.ScopeProject, p.ID, p.Name, p.Budget)
		}
	}
	if err != nil || project == "" {
		return list, err
	}
	return list, m.eachTask(project, func(t doc.Task) { add(budget.ScopeTask, t.ID, t.Title, t.Budget) })
}
