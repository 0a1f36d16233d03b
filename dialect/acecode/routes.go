package acecode

// The routes.

import "net/http"

// allRoutes returns the handlers by path and method.
func (s *server) allRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	const session, spaces = "/api/sessions/{id}", "/api/workspaces/{hash}/sessions"
	for path, of := range map[string]methods{
		"/api/health":                         {"GET": health},
		"/api/usage":                          {"GET": usage},
		"/api/config/ui-preferences":          {"GET": preferences, "PUT": setPreferences},
		"/api/config/default-permission-mode": {"GET": defaultMode, "PUT": setDefaultMode},
		"/api/open-in-explorer":               {"POST": openInExplorer},
		"/api/history":                        {"GET": typedTexts, "POST": keepText},
		"/api/commands":                       {"GET": commandList},
		"/api/sessions":                       {"GET": listSessions, "POST": createSession},
		session:                               {"DELETE": deleteSession},
		session + "/resume":                   {"POST": resumeSession},
		session + "/messages":                 {"GET": readMessages, "POST": postMessage},
		session + "/commands":                 {"POST": runCommand},
		session + "/todos":                    {"DELETE": clearTodos},
		session + "/permissions":              {"GET": permissions, "PUT": setPermissions},
		session + "/turn/steer":               {"POST": steerTurn},
		session + "/turn/interrupt":           {"POST": interruptTurn},
		session + "/attachments":              {"POST": attach},
		session + "/attachments/{aid}/blob":   {"GET": readAttachment},
		"/api/workspaces":                     {"GET": workspaces},
		spaces:                                {"GET": inWorkspace(listSessions), "POST": inWorkspace(createSession)},
		spaces + "/{id}/resume":               {"POST": inWorkspace(resumeSession)},
		spaces + "/{id}/todos":                {"DELETE": inWorkspace(clearTodos)},
		"/api/models":                         {"GET": listModels, "POST": createModel},
		"/api/models/{name}":                  {"PUT": updateModel, "DELETE": deleteModel},
		"/api/models/probe":                   {"POST": probeModels},
		"/api/config/default-model":           {"GET": usualModel, "POST": setUsualModel},
		session + "/model":                    {"GET": readSessionModel, "POST": setSessionModel},
		"/api/mcp":                            {"GET": mcpServers, "PUT": setMCPServers},
		"/api/mcp/reload":                     {"POST": reloadMCPServers},
		"/api/skills":                         {"GET": listSkills},
		"/api/skills/{name}":                  {"PUT": setSkill},
		"/api/skills/{name}/body":             {"GET": readSkill},
		"/api/pty":                            {"GET": onConsole(listConsoles), "POST": onConsole(createConsole)},
		"/api/pty/shells":                     {"GET": onConsole(listShells)},
		"/api/pty/{pty}":                      {"DELETE": onConsole(deleteConsole)},
		"/api/pty/{pty}/resize":               {"POST": onConsole(resizeConsole)},
		"/api/pty/{pty}/title":                {"POST": onConsole(renameConsole)},
		"/ws/pty/{pty}":                       {"GET": onConsole(consoleSocket)},
		"/ws/sessions/{x}":                    {"GET": sessionSocket},
	} {
		mux.Handle(path, of.serve(s))
	}
	mux.Handle("/{$}", methods{"GET": greet}.serve(s))
	mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, nil, unknownRoute())
	}))
	return mux
}

func unknownRoute() error { return refuse(http.StatusNotFound, "unknown route") }

// greet describes the server.
func greet(*server, *request) (any, error) {
	return blob{kind: "text/plain; charset=utf-8", content: []byte("AgentCompany, as the ACECode daemon; the control room is another program: ac ui:web\n")}, nil
}

// inWorkspace wraps a handler for the only workspace.
func inWorkspace(h handler) handler {
	return func(s *server, r *request) (any, error) {
		if !s.isHash(r.PathValue("hash")) {
			return nil, unknownWorkspace()
		}
		return h(s, r)
	}
}

// isHash reports whether a name stands for the directory where sessions work.
func (s *server) isHash(name string) bool { return name == s.hash || name == "__local__" }

// workspaceRow is the directory where sessions work, as clients see it.
type workspaceRow struct {
	Hash      string `json:"hash"`
	Cwd       string `json:"cwd"`
	Name      string `json:"name"`
	Available bool   `json:"available"`
	Active    bool   `json:"active"`
}

func workspaces(s *server, r *request) (any, error) {
	name, err := s.projectName(r.Context())
	return []workspaceRow{{s.hash, s.cwd, name, true, true}}, err
}
