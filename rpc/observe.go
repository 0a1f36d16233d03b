package rpc

// Observation: the server watches every workspace that a request names, whatever the result of the
// request.

import (
	"encoding/json"
)

// observe observes the workspace of an accepted request.
func (s *Server) observe(scope requestScope, raw []byte) {
	dir := scope.dir
	if len(scope.reads) > 0 {
		dir = namedIn(raw) // not the target of a copy
	}
	s.all.Observe(dir)
}

// observeLater observes the workspace of a refused request, concurrently with
// later requests.
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

// namedIn returns the workspace that params name, whether or not they are valid. It returns "" if
// they name none.
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
