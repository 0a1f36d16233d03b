package room

// The rows of each table. Texts are single lines and masked. Unknown values are absent.

// Tables of the room besides TableRuns.
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

// Run is a row of runs. Tk, the source of Tokens, is reported, estimated or none. Ck, the source of
// Cost, is reported, rate or none.
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
	Open      int      `json:"open"` // open requests
	Job       string   `json:"job,omitempty"`
	Workflow  bool     `json:"wf,omitempty"`
	RetryOf   string   `json:"retry_of,omitempty"`
	Sessions  int      `json:"sessions"`
	Changed   int      `json:"changed,omitempty"` // files, as the agent reports them; once landed, as landed
	// The worker fields are set for a session on another machine.
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
	Repos       []Repo   `json:"repos,omitempty"` // in which the project's agents may work
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
	Quiet  int            `json:"quiet"` // live runs without output for a minute
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

// Conversation is a row of conversations.
type Conversation struct {
	Project string `json:"p,omitempty"`
	Name    string `json:"name"`
	LastAt  string `json:"last_at,omitempty"`
	LastBy  string `json:"last_by,omitempty"`
	Unread  int    `json:"unread"` // by the person on this machine, of the newest 200
}

// Serves lists the features that the server process offers to its clients.
type Serves struct {
	Launch    bool     `json:"launch"`
	Terminals bool     `json:"terminals"`
	Dialects  []string `json:"dialects"`
}

// Meta is the row of the server. EpochAt is when the room's current epoch began.
type Meta struct {
	Serves

	Version   string    `json:"version"`
	EpochAt   string    `json:"epoch_at"`
	Index     Index     `json:"index"`
	Heartbeat Heartbeat `json:"heartbeat"`
	Machines  *Machines `json:"machines,omitempty"` // nil without a hub
	Doctor    *Doctor   `json:"doctor,omitempty"`   // of the last diagnosis by this process
}

// Machines counts the workers of a hub and their slots, and the launches that wait.
type Machines struct {
	Workers    int `json:"workers"`
	Online     int `json:"online"`
	SlotsTotal int `json:"slots_total"`
	SlotsUsed  int `json:"slots_used"`
	Waiting    int `json:"waiting"` // launches
}

// Doctor counts the checks of a diagnosis by result.
type Doctor struct {
	Pass int    `json:"pass"`
	Warn int    `json:"warn"`
	Fail int    `json:"fail"`
	At   string `json:"at"`
}

// Index is the state of the index from which the rows are read.
type Index struct {
	State  string `json:"state"` // ready, or why not
	Behind bool   `json:"behind"`
}

// Heartbeat reports whether the heartbeat is on, and when it ticks next.
type Heartbeat struct {
	On     bool   `json:"on"`
	NextAt string `json:"next_at,omitempty"`
}
