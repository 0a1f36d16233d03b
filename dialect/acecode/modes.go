package acecode

// Permission modes, by their names in the protocol.

import (
	"context"
	"encoding/json"
	"net/http"

	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/workspace/doc"
)

// modeAnswer is a permission mode in the terms of the protocol.
type modeAnswer struct {
	Mode        string `json:"mode"`
	Description string `json:"description"`
	Enforced    *bool  `json:"enforced,omitempty"`
}

// modes returns the permission modes with the protocol's names and descriptions.
func modes() []struct {
	name, about string
	mode        doc.Mode
} {
	return []struct {
		name, about string
		mode        doc.Mode
	}{
		{"default", "Prompt for write/exec tools", doc.ModeDefault},
		{"accept-edits", "Auto-allow file edits, prompt for bash", doc.ModeAcceptEdits},
		{"plan", "Plan only; no writes or commands", doc.ModePlan},
		{"yolo", "Auto-allow tools; confirm first external file write", doc.ModeFullAuto},
	}
}

func modeOf(mode doc.Mode) modeAnswer {
	for _, m := range modes() {
		if m.mode == mode {
			return modeAnswer{Mode: m.name, Description: m.about}
		}
	}
	return modeAnswer{Mode: string(mode)}
}

// modeNamed returns the mode with one of the protocol's names.
func modeNamed(name string) (doc.Mode, error) {
	if name == "acceptEdits" {
		name = "accept-edits"
	}
	for _, m := range modes() {
		if m.name == name {
			return m.mode, nil
		}
	}
	return "", refuse(http.StatusBadRequest, "INVALID_PERMISSION_MODE")
}

// modeIn reads the mode in a body.
func modeIn(r *request) (doc.Mode, error) {
	var p struct {
		Mode json.RawMessage `json:"mode"`
	}
	if err := r.decode(&p); err != nil {
		return "", err
	}
	var name *string
	if json.Unmarshal(p.Mode, &name) != nil || name == nil {
		return "", refuse(http.StatusBadRequest, "BAD_REQUEST")
	}
	return modeNamed(*name)
}

// usualMode returns the mode of new sessions.
func (s *server) usualMode(ctx context.Context) (doc.Mode, error) {
	s.state.mu.Lock()
	mode := s.state.mode
	s.state.mu.Unlock()
	if mode != "" {
		return mode, nil
	}
	kept, err := dialect.Do(ctx, s.Company, orchestration.Operations.PolicyDefaults, orchestration.PolicyDefaultsParams{Dir: s.In(), ProjectID: s.ProjectID})
	return kept.Mode, err
}

func defaultMode(s *server, r *request) (any, error) {
	mode, err := s.usualMode(r.Context())
	return modeOf(mode), err
}

func setDefaultMode(s *server, r *request) (any, error) {
	mode, err := modeIn(r)
	if err != nil {
		return nil, err
	}
	_, err = dialect.Do(r.Context(), s.Company, orchestration.Operations.SetPolicyDefaults, orchestration.SetPolicyDefaultsParams{
		Dir: s.In(), PersonParams: s.person(), ProjectID: s.ProjectID, Mode: mode,
	})
	if err != nil {
		return nil, explain(http.StatusInternalServerError, "PERSIST_FAILED", err.Error())
	}
	s.state.mu.Lock()
	s.state.mode = "" // the stored default now applies
	s.state.mu.Unlock()
	return modeOf(mode), nil
}

// externalWrite returns a rule that asks before the first write outside the place where a session
// works.
func externalWrite() doc.PolicyRule {
	return doc.PolicyRule{Operation: doc.OpWrite, Effect: doc.Ask, Glob: "/**", Once: true}
}

func isExternalWrite(r doc.PolicyRule) bool {
	return r.Once && r.Operation == doc.OpWrite && r.Effect == doc.Ask && r.Glob == "/**"
}

// setMode changes the mode of a session. level is its new permission level, "" to leave it
// unchanged. When setMode returns, the new mode has decided the open requests.
func (s *server) setMode(ctx context.Context, id string, mode doc.Mode, level doc.Level) (doc.RunPolicy, error) {
	now, err := dialect.Do(ctx, s.Company, orchestration.Operations.RunPolicy, orchestration.RunPolicyParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: id})
	if err != nil {
		return doc.RunPolicy{}, err
	}
	rules := []doc.PolicyRule{}
	if mode == doc.ModeFullAuto {
		rules = append(rules, externalWrite())
	}
	for _, r := range now.Policy.Rules {
		if !isExternalWrite(r) {
			rules = append(rules, r)
		}
	}
	set, err := dialect.Do(ctx, s.Company, orchestration.Operations.SetRunPolicy, orchestration.SetRunPolicyParams{
		Dir: s.In(), PersonParams: s.person(), ProjectID: s.ProjectID, RunID: id, Mode: mode, Rules: rules, PermissionLevel: level,
	})
	return set.Policy, err
}

// permissionsOf returns the mode of a session as clients see it.
func (s *server) permissionsOf(row workforce.RunWithLog, mode doc.Mode) modeAnswer {
	answer := modeOf(mode)
	if isCommand(row) {
		answer.Enforced = new(false)
	}
	return answer
}

func permissions(s *server, r *request) (any, error) {
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	now, err := dialect.Do(r.Context(), s.Company, orchestration.Operations.RunPolicy, orchestration.RunPolicyParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: row.ID})
	return s.permissionsOf(row, now.Policy.Mode), err
}

func setPermissions(s *server, r *request) (any, error) {
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	mode, err := modeIn(r)
	if err != nil {
		return nil, err
	}
	set, err := s.setMode(r.Context(), row.ID, mode, "")
	if err != nil {
		return nil, err
	}
	return s.permissionsOf(row, set.Mode), nil
}
