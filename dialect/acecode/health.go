package acecode

// The server's health, and small settings.

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"ac/company"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/proc"
	"ac/workspace"
)

type healthAnswer struct {
	GUID          string        `json:"guid"`
	PID           int           `json:"pid"`
	Port          int           `json:"port"`
	Version       string        `json:"version"`
	Cwd           string        `json:"cwd"`
	Uptime        int64         `json:"uptime_seconds"`
	Console       consoleHealth `json:"console"`
	WorkspaceHash string        `json:"workspace_hash"`
	Status        string        `json:"status"`
	Dialect       string        `json:"dialect"`
	Features      struct{}      `json:"features"`
}

type consoleHealth struct {
	Available bool   `json:"available"`
	Backend   string `json:"backend"`
}

func health(s *server, r *request) (any, error) {
	known, err := dialect.Do(r.Context(), s.Company, (*company.Host).Health, company.NoParams{})
	return healthAnswer{
		GUID: s.Host.ServerID(), PID: os.Getpid(), Port: s.port, Version: s.Version, Cwd: s.cwd, Uptime: int64(s.Clock.Now().Sub(s.began).Seconds()),
		Console: s.consoles(r.Context()), WorkspaceHash: s.hash, Status: known.Status, Dialect: Name,
	}, err
}

// preferencesBody are the preferences of pages. There is one, which never shows anything.
type preferencesBody struct {
	ShowAvatar *bool `json:"show_acecode_avatar"`
}

func preferences(*server, *request) (any, error) { return preferencesBody{new(false)}, nil }

func setPreferences(_ *server, r *request) (any, error) {
	var p struct {
		ShowAvatar json.RawMessage `json:"show_acecode_avatar"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if text := string(p.ShowAvatar); text != "true" && text != "false" {
		return nil, refuse(http.StatusBadRequest, "BAD_REQUEST")
	}
	return preferencesBody{new(false)}, nil
}

// okAnswer is the response to a successful action.
type okAnswer struct {
	OK bool `json:"ok"`
}

// notOpened refuses to open a directory.
func notOpened(code int, why string) error {
	return &refusal{code, errorBody{OK: new(false), Error: why}}
}

func openInExplorer(s *server, r *request) (any, error) {
	if !s.opts.AllowOpen {
		return nil, notOpened(http.StatusNotImplemented, "not available")
	}
	var p struct {
		Path string `json:"path"`
	}
	if err := r.decode(&p); err != nil {
		return nil, notOpened(http.StatusBadRequest, refusalOf(err).Error())
	}
	if p.Path == "" || !filepath.IsAbs(p.Path) {
		return nil, notOpened(http.StatusBadRequest, "path must be absolute")
	}
	dir, err := filepath.EvalSymlinks(p.Path)
	if st, statErr := os.Stat(dir); err != nil || statErr != nil || !st.IsDir() {
		return nil, notOpened(http.StatusBadRequest, "path is no existing directory")
	}
	inside, err := s.isOurs(r.Context(), dir)
	if err != nil {
		return nil, err
	}
	if !inside {
		return nil, notOpened(http.StatusBadRequest, "path lies outside of the workspace and its repositories")
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	cmd := exec.Command(opener, dir) //nolint:gosec,noctx // one argument, which was checked; it outlives the request
	cmd.SysProcAttr, cmd.Env = proc.NewSession(), withoutSecrets(os.Environ())
	if err := cmd.Start(); err != nil {
		return nil, notOpened(http.StatusBadRequest, "the file manager could not be started")
	}
	go func() { _ = cmd.Wait() }() // reaps it, however it ends
	return okAnswer{true}, nil
}

// withoutSecrets returns an environment without ac's own variables, which may hold secrets.
func withoutSecrets(env []string) (kept []string) {
	for _, entry := range env {
		if !strings.HasPrefix(entry, "AC_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// isOurs reports whether a directory, with links resolved, is where sessions work, or in a linked
// repository or a worktree.
func (s *server) isOurs(ctx context.Context, dir string) (bool, error) {
	repos, err := dialect.Do(ctx, s.Company, workforce.Operations.Repositories, company.ProjectParams{Dir: s.In(), ProjectID: s.ProjectID})
	roots := make([]string, 0, 2+len(repos))
	roots = append(roots, s.cwd, filepath.Join(workspace.Canonical(s.Dir), filepath.FromSlash(workspace.WorktreesDir)))
	for _, repo := range repos {
		roots = append(roots, workspace.Canonical(repo.Root))
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true, nil
		}
	}
	return false, err
}

// projectName returns the name of the project.
func (s *server) projectName(ctx context.Context) (string, error) {
	projects, err := dialect.Do(ctx, s.Company, workforce.Operations.ProjectNames, s.In())
	for _, p := range projects {
		if p.ID == s.ProjectID {
			return p.Name, err
		}
	}
	return "", err
}

// maxTyped limits the list of typed texts.
const maxTyped = 100

func typedTexts(s *server, r *request) (any, error) {
	if name := r.URL.Query().Get("cwd"); name != "" && !s.isCwd(name) {
		return []string{}, nil
	}
	most := integer(r, "max", maxTyped, 1, maxTyped)
	rows, err := s.sessions(r.Context())
	if err != nil {
		return nil, err
	}
	texts := []string{}
	for _, row := range rows { // newest first
		if len(texts) >= most {
			break
		}
		err := s.withHistory(r.Context(), row.ID, func(h *history) error {
			for i := len(h.mapper.View.Messages) - 1; i >= 0 && len(texts) < most; i-- {
				if m := h.mapper.View.Messages[i]; m.Role == "user" {
					texts = append(texts, m.Content)
				}
			}
			return nil
		})
		if err != nil && !s.isLeftOut(r.Context(), row.ID, err) {
			return nil, err
		}
	}
	for i, j := 0, len(texts)-1; i < j; i, j = i+1, j-1 {
		texts[i], texts[j] = texts[j], texts[i]
	}
	return texts, nil
}

// keepText stores nothing: the logs of the runs contain the texts.
func keepText(_ *server, r *request) (any, error) {
	var p struct {
		Text string `json:"text"`
	}
	return nil, r.decode(&p)
}

// isCwd reports whether a path is the directory where sessions work.
func (s *server) isCwd(name string) bool {
	return filepath.IsAbs(name) && workspace.Canonical(name) == s.cwd
}
