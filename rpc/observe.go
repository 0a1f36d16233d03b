package rpc

// Observing: whatever becomes of a request, the workspace that it names is
// looked after from then on.

import (
	"encoding/json"
)

// observe observes what a request names that was carried out.
func (s *Server) observe(scope requestScope, raw []byte) {
	dir := scope.dir
	if len(scope.reads) > 0 {
		dir = namedIn(raw) // not the place that a copy is made at
	}
	s.all.Observe(dir)
}

// observeLater observes what a request names that was refused, beside the next
// ones.
func (s *Server) observeLater(raw []byte) {
	dir := namedIn(raw)
	if dir == "" || !s.enter() {
		return
	}
	go func() { // s.wg waits for it
		defer s.wg.Done()
		s.all.Observe(dir)
	}()
}

// namedIn is the workspace that params name, "" for none, whatever else they are.
func namedIn(raw []byte) string {
	var params struct {
		Dir json.RawMessage `json:"workspace_dir"`
		Job json.RawMessage `json:"job"`
	}
	if json.Unmarshal(raw, &params) != nil {
		return ""
	}
	var dir string
	if json.Unmarshal(params.Dir, &dir) == nil && dir != "" {
		return dir
	}
	var job struct {
		Dir string `json:"workspace_dir"`
	}
	if json.Unmarshal(params.Job, &job) != nil {
		return ""
	}
	return job.Dir
}
