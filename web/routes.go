package web

// The routes of the screens: each calls one company method.

import (
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/httpguard"
	"ac/workspace/doc"
)

// handler answers a request, or returns an error before it has written
// anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// methods holds the handlers of one path. A path with GET also supports HEAD.
type methods struct{ get, post handler }

func (m methods) allowed() string {
	var names []string
	if m.get != nil {
		names = append(names, "GET, HEAD")
	}
	if m.post != nil {
		names = append(names, "POST")
	}
	return strings.Join(names, ", ")
}

// callPath is where methods are called.
const callPath = "/api/call"

func (s *Server) routes() map[string]methods {
	return map[string]methods{
		"/":                     {get: s.page},
		"/favicon.svg":          {get: s.icon},
		"/api/health":           {get: s.health},
		"/api/ui/snapshot":      {get: s.ui},
		"/api/monitor/snapshot": {get: s.monitor},
		"/api/inbox/snapshot":   {get: s.inbox},
		"/api/usage/analytics":  {get: s.usage},
		"/api/comments":         {get: s.comments, post: s.addComment},
		"/api/ui/resolve":       {post: s.resolve},
		callPath:                {post: s.call},
		"/api/events":           {get: s.events},
		"/api/stream":           {get: s.stream},
		"/api/rows":             {get: s.rows},
		"/badge.svg":            {get: s.badge},
	}
}

// ServeHTTP answers one request. Paths are compared literally, never cleaned, redirected, or mapped
// to a file. This rules out path traversal.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		fail(w, r, fault.New(fault.ShuttingDown, "the server is shutting down"))
		return
	}
	defer s.requests.Done()
	defer s.recovered(w, r)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	if refused := s.admit(r); refused != nil {
		if refused.Status == http.StatusUnauthorized {
			h.Set("Www-Authenticate", "Bearer")
		}
		fail(w, r, refuse(refused.Status, "%s", refused.Message))
		return
	}
	s.guard.SetCookie(w, r)
	if err := s.handle(w, r); err != nil {
		fail(w, r, err)
	}
}

// admit returns the refusal of a request, nil if it may pass. Other origins may open the page
// itself.
func (s *Server) admit(r *http.Request) *httpguard.Refusal {
	isPage := r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if refused := s.guard.CheckHost(r); refused != nil || isPage {
		return refused
	}
	if refused := s.guard.CheckOrigin(r); refused != nil {
		return refused
	}
	if r.Method == http.MethodPost && r.URL.Path != callPath {
		return s.guard.CheckPeer(r)
	}
	return nil
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {
	path, known := s.paths[r.URL.Path]
	if strings.HasPrefix(r.URL.Path, assetPath) {
		path, known = methods{get: s.vendoredFile}, true
	}
	if !known || r.URL.Opaque != "" {
		return refuse(http.StatusNotFound, "Not found")
	}
	chosen := path.get
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		chosen = path.post
	default:
		chosen = nil
	}
	if chosen == nil {
		w.Header().Set("Allow", path.allowed())
		return refuse(http.StatusMethodNotAllowed, "Not found: %s has no %s", r.URL.Path, r.Method)
	}
	return chosen(w, r)
}

// recovered turns a panic into the failure of its own request.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	if cause := recover(); cause != nil {
		s.log.Error("a request panicked", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
		fail(w, r, fault.New(fault.Internal, "internal fault; see the server's output"))
	}
}

// health is the answer of /api/health.
type health struct {
	OK           bool   `json:"ok"`
	ProjectID    string `json:"project_id"`
	ActorID      string `json:"actor_id"`
	ActorRole    string `json:"actor_role"`
	Now          string `json:"now"`
	Version      string `json:"version"`
	WorkspaceDir string `json:"workspace_dir"`
	Company      string `json:"company"`
	PID          int    `json:"pid"`
	// PeerChecked is false if the system does not report the user of a connection.
	PeerChecked bool `json:"peer_checked"`
	// Dialects lists the other protocols that this process serves.
	Dialects []dialectAddress `json:"dialects"`
}

// dialectAddress is the address for clients of another protocol.
type dialectAddress struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	name, err := company.Do(r.Context(), s.all, (*company.Company).Name, s.dir())
	if err != nil {
		return err
	}
	dialects := make([]dialectAddress, len(s.dialects))
	for i, l := range s.dialects {
		dialects[i] = dialectAddress{l.Name, l.Addr}
	}
	answer(w, r, http.StatusOK, health{
		true, s.opts.ProjectID, s.opts.Actor.ActorID, s.opts.Actor.ActorRole, clock.Stamp(s.opts.Env.Clock.Now()),
		s.opts.Version, s.opts.WorkspaceDir, name, s.opts.Env.PID, httpguard.ChecksPeers(), dialects,
	})
	return nil
}

// dir returns the workspace param.
func (s *Server) dir() company.Dir { return company.Dir{WorkspaceDir: s.opts.WorkspaceDir} }

// projectOf returns the project of a request: the server's project, or else the one that the query
// names.
func (s *Server) projectOf(query url.Values) (string, error) {
	if s.opts.ProjectID != "" {
		return s.opts.ProjectID, nil
	}
	project, err := idOf(query, "project_id")
	if err != nil {
		return "", err
	}
	if project == "" {
		return "", refuse(http.StatusBadRequest, "project_id is needed: this control room is of all projects")
	}
	c, err := s.folder.Enter(s.work)
	if err != nil {
		return "", err
	}
	known, err := c.HasProject(project)
	if err == nil && !known {
		err = fault.New(fault.NotFound, "project %s does not exist", project)
	}
	return project, err
}

// inProject reads the query of a request and its project.
func (s *Server) inProject(r *http.Request) (query url.Values, project string, err error) {
	if query, err = queryOf(r); err != nil {
		return nil, "", err
	}
	project, err = s.projectOf(query)
	return query, project, err
}

// screenParams returns the params of a project's screen.
func (s *Server) screenParams(project string, step company.IndexStep) company.UIParams {
	return company.UIParams{Dir: s.dir(), IndexStep: step, ScreenLimits: s.opts.Limits, ProjectID: project}
}

func (s *Server) ui(w http.ResponseWriter, r *http.Request) error {
	query, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	result, err := company.Do(r.Context(), s.all, (*company.Company).UI, s.screenParams(project, s.indexStep(query)))
	return reply(w, r, result, err)
}

func (s *Server) monitor(w http.ResponseWriter, r *http.Request) error {
	query, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	result, err := company.Do(r.Context(), s.all, (*company.Company).Monitor, company.MonitorParams{
		Dir: s.dir(), IndexStep: s.indexStep(query), ProjectID: project, Limit: s.opts.Limits.MonitorLimit,
	})
	return reply(w, r, result, err)
}

func (s *Server) inbox(w http.ResponseWriter, r *http.Request) error {
	query, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	result, err := company.Do(r.Context(), s.all, (*company.Company).Inbox, company.InboxParams{
		Dir: s.dir(), IndexStep: s.indexStep(query), ItemLimits: s.opts.Limits.ItemLimits, ProjectID: project,
	})
	return reply(w, r, result, err)
}

func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	query, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	result, err := company.Do(r.Context(), s.all, (*company.Company).Usage, company.MonitorParams{
		Dir: s.dir(), IndexStep: s.indexStep(query), ProjectID: project, Limit: rowsOf(query, s.opts.Limits.MonitorLimit),
	})
	return reply(w, r, result, err)
}

func reply(w http.ResponseWriter, r *http.Request, result any, err error) error {
	if err == nil {
		answer(w, r, http.StatusOK, result)
	}
	return err
}

// fewComments is the default limit of comments.
const fewComments = 300

type commentList struct {
	Comments []doc.Comment `json:"comments"`
}

func (s *Server) comments(w http.ResponseWriter, r *http.Request) error {
	query, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	p := decisions.ListCommentsParams{Dir: s.dir(), ProjectID: project, Limit: rowsOf(query, fewComments)}
	for name, id := range map[string]*string{
		"target_agent_id": &p.TargetAgentID, "target_artifact_id": &p.TargetArtifactID, "target_run_id": &p.TargetRunID,
	} {
		if *id, err = idOf(query, name); err != nil {
			return err
		}
	}
	list, err := company.Do(r.Context(), s.all, decisions.Folder.ListComments, p)
	return reply(w, r, commentList{list}, err)
}

// commentBody is a new comment.
type commentBody struct {
	Body             string `json:"body" is:"optional,empty"`
	TargetAgentID    string `json:"target_agent_id,omitempty" is:"optional,empty"`
	TargetArtifactID string `json:"target_artifact_id,omitempty" is:"optional,empty"`
	TargetRunID      string `json:"target_run_id,omitempty" is:"optional,empty"`
	Visibility       string `json:"visibility,omitempty" is:"optional,empty"`
	ProjectID        string `json:"project_id,omitempty" is:"optional,empty"`
}

// commentResult is a new comment, with the screen afterwards. Snapshot is null if the screen cannot
// be read, because the comment exists anyway.
type commentResult struct {
	Comment  doc.Comment `json:"comment"`
	Snapshot any         `json:"snapshot"`
}

func (s *Server) addComment(w http.ResponseWriter, r *http.Request) error {
	body, err := decode[commentBody](s, w, r)
	if err != nil {
		return err
	}
	project, err := s.projectOf(url.Values{"project_id": {body.ProjectID}})
	if err != nil {
		return err
	}
	switch blank := func(text string) bool { return strings.TrimSpace(text) == "" }; {
	case blank(body.Body):
		return refuse(http.StatusBadRequest, "body is missing")
	case blank(body.TargetAgentID) && blank(body.TargetArtifactID) && blank(body.TargetRunID):
		return refuse(http.StatusBadRequest, "target_agent_id, target_artifact_id or target_run_id is needed")
	}
	made, err := company.Do(r.Context(), s.all, decisions.Operations.AddComment, decisions.AddCommentParams{
		Dir: s.dir(), ProjectID: project, AuthorID: s.opts.Actor.ActorID, AuthorRole: s.opts.Actor.ActorRole, Body: body.Body,
		TargetAgentID: body.TargetAgentID, TargetArtifactID: body.TargetArtifactID, TargetRunID: body.TargetRunID, Visibility: body.Visibility,
	})
	if err != nil {
		return err
	}
	result := commentResult{Comment: made.Comment}
	if screen, err := company.Do(r.Context(), s.all, (*company.Company).UI, s.screenParams(project, company.IndexStep{SyncIndex: true})); err == nil {
		result.Snapshot = screen
	}
	return reply(w, r, result, nil)
}

// decisionBody is a decision on a pending item.
type decisionBody struct {
	ArtifactID string `json:"artifact_id" is:"id"`
	Decision   string `json:"decision" is:"enum=approved|denied"`
	Notes      string `json:"notes" is:"optional,empty"`
	ProjectID  string `json:"project_id,omitempty" is:"optional,empty"`
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request) error {
	body, err := decode[decisionBody](s, w, r)
	if err != nil {
		return err
	}
	project, err := s.projectOf(url.Values{"project_id": {body.ProjectID}})
	if err != nil {
		return err
	}
	if strings.TrimSpace(body.ArtifactID) == "" {
		return refuse(http.StatusBadRequest, "artifact_id is missing")
	}
	result, err := company.Do(r.Context(), s.all, decisions.Operations.ResolveUI, decisions.ResolveUIParams{
		ResolveParams: decisions.ResolveParams{
			Dir: s.dir(), ProjectID: project, ArtifactID: body.ArtifactID, Decision: body.Decision,
			Decider: decisions.Decider{ActorParams: s.opts.Actor, Notes: body.Notes},
		},
		IndexStep: company.IndexStep{SyncIndex: s.opts.SyncIndex}, ScreenLimits: s.opts.Limits,
	})
	return reply(w, r, result, err)
}
