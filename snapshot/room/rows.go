package room

// The rows of each table. Texts are one line each, masked. What is not known is absent.

// Tables of the room, beside TableRuns.
const (
	TableNeeds    = "needs"
	TablePeople   = "people"
	TableProjects = "projects"
	TableCounts   = "counts"
	TableJobs     = "jobs"
	TableTalk     = "talk"
	TableMeta     = "meta"
)

// Tables lists the tables.
func Tables() []string {
	return []string{TableRuns, TableNeeds, TablePeople, TableProjects, TableCounts, TableJobs, TableTalk, TableMeta}
}

// Run is a row of runs. Tk is reported, estimated or none; Ck reported, rate or none.
type Run struct {
	Project   string   `json:"p"`
	Agent     string   `json:"agent"`
	Provider  string   `json:"provider"`
	Model     string   `json:"model,omitempty"`
	Task      string   `json:"task,omitempty"`
	Title     string   `json:"title"`
	Status    string   `json:"status"`
	Activity  string   `json:"activity,omitempty"`
	Turn      int      `json:"turn,omitempty"`
	At        string   `json:"at"`
	Started   string   `json:"started,omitempty"`
	Ended     string   `json:"ended,omitempty"`
	Line      string   `json:"line,omitempty"`
	SaidAt    string   `json:"said_at,omitempty"`
	Seq       int64    `json:"seq"`
	Tokens    *int64   `json:"tokens,omitempty"`
	Tk        string   `json:"tk"`
	Cost      *float64 `json:"cost,omitempty"`
	Ck        string   `json:"ck"`
	Flags     []string `json:"flags"`
	ErrorKind string   `json:"err_kind,omitempty"`
	Error     string   `json:"err,omitempty"`
	Exit      *int     `json:"exit,omitempty"`
	Open      int      `json:"open"` // requests that wait
	Job       string   `json:"job,omitempty"`
	Workflow  bool     `json:"wf,omitempty"`
	RetryOf   string   `json:"retry_of,omitempty"`
	Sessions  int      `json:"sessions"`
	Changed   int      `json:"changed,omitempty"` // files, as the agent says; of work that landed, as it landed
	// Of a session on another machine.
	WorkerID string `json:"worker_id,omitempty"`
	Reach    string `json:"reach,omitempty"` // placing, ok, unreachable or lost
}

// Person is a row of people.
type Person struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Team     string `json:"team,omitempty"`
	Provider string `json:"provider"`
	Status   string `json:"status"` // working, waiting or idle
	Live     int    `json:"live"`
	Waiting  int    `json:"waiting"`
	LastAt   string `json:"last_at,omitempty"`
}

// Project is a row of projects. Today is the local day of this machine.
type Project struct {
	Name        string   `json:"name"`
	Live        int      `json:"live"`
	Needs       int      `json:"needs"`
	Failed      int      `json:"failed"`
	Tasks       int      `json:"tasks"`
	DonePercent int      `json:"done_pct"`
	Blocked     int      `json:"blocked"`
	TokensToday int64    `json:"tokens_today"`
	CostToday   *float64 `json:"cost_today,omitempty"`
	Repos       []Repo   `json:"repos,omitempty"` // in which its agents may work
}

// Repo is a repository of a project.
type Repo struct {
	ID    string `json:"repo_id"`
	Label string `json:"label,omitempty"`
}

// Counts is a row of counts.
type Counts struct {
	Needs  int            `json:"needs"`
	Live   int            `json:"live"`
	Failed int            `json:"failed"`
	Quiet  int            `json:"quiet"` // live runs that have said nothing for a minute
	ByKind map[string]int `json:"by_kind"`
}

// Job is a row of jobs.
type Job struct {
	Project string `json:"p"`
	Goal    string `json:"goal"`
	Status  string `json:"status"`
	Worker  string `json:"worker"`
	Run     string `json:"run,omitempty"`
	At      string `json:"at"`
}

// Talk is a row of conversations.
type Talk struct {
	Project string `json:"p,omitempty"`
	Name    string `json:"name"`
	LastAt  string `json:"last_at,omitempty"`
	LastBy  string `json:"last_by,omitempty"`
	Unread  int    `json:"unread"` // by the person of this machine, of the newest 200
}

// Serves is what the process that keeps the room lets its clients do.
type Serves struct {
	Launch    bool     `json:"launch"`
	Terminals bool     `json:"terminals"`
	Dialects  []string `json:"dialects"`
}

// Meta is the row of the server. EpochAt is when the revisions of the room began.
type Meta struct {
	Serves

	Version   string    `json:"version"`
	EpochAt   string    `json:"epoch_at"`
	Index     Index     `json:"index"`
	Heartbeat Heartbeat `json:"heartbeat"`
	Machines  *Machines `json:"machines,omitempty"` // only where there is a hub
	Doctor    *Doctor   `json:"doctor,omitempty"`   // of the last diagnosis by this process
}

// Machines are the workers of a hub, and what waits for them.
type Machines struct {
	Workers    int `json:"workers"`
	Online     int `json:"online"`
	SlotsTotal int `json:"slots_total"`
	SlotsUsed  int `json:"slots_used"`
	Waiting    int `json:"waiting"` // launches
}

// Doctor is how many checks of a diagnosis came out how.
type Doctor struct {
	Pass int    `json:"pass"`
	Warn int    `json:"warn"`
	Fail int    `json:"fail"`
	At   string `json:"at"`
}

// Index is the state of the index that the rows come from.
type Index struct {
	State  string `json:"state"` // ready, or why it is not
	Behind bool   `json:"behind"`
}

// Heartbeat is whether the heartbeat is on, and when it ticks next.
type Heartbeat struct {
	On     bool   `json:"on"`
	NextAt string `json:"next_at,omitempty"`
}
