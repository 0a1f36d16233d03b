package session

// Worktree says which worktree of its repository a session works in.
type Worktree struct {
	// Owner and Run name it, and its branch: a task, a job or a run of a workflow,
	// and the run that it is made for.
	Owner string `json:"owner"`
	Run   string `json:"run"`
	// Base is the commit that it is made from. Snapshot says that this one holds
	// what was not committed.
	Base     string `json:"base"`
	Snapshot bool   `json:"snapshot,omitempty"`
	// From is the commit that it is made anew from, of a run that goes on and has none
	// here; "" for one that is made the first time.
	From string `json:"from,omitempty"`
	// Exists says that the worktree was made before.
	Exists bool `json:"exists,omitempty"`
}
