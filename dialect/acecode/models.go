package acecode

// Models: the profiles that agents are started with.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"ac/company/equipment"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/fault"
	"ac/internal/probe"
	"ac/runs/modelprofile"
	"ac/workspace/doc"
)

// modelRow is a profile as clients see it. It never contains a key.
type modelRow struct {
	Name           string            `json:"name"`
	Provider       string            `json:"provider"`
	Model          string            `json:"model"`
	BaseURL        string            `json:"base_url,omitempty"`
	RequestHeaders map[string]string `json:"request_headers,omitempty"`
	ContextWindow  int64             `json:"context_window,omitempty"`
	AgentID        string            `json:"agent_id,omitempty"`
	IsDefault      bool              `json:"is_default"`
	HasAPIKey      bool              `json:"has_api_key"`
	IsLegacy       bool              `json:"is_legacy"`
}

func rowOfModel(p modelprofile.Profile, usual *string) modelRow {
	return modelRow{
		p.Name, p.Provider, p.Model, p.BaseURL, p.RequestHeaders, p.ContextWindow, p.AgentID, usual != nil && *usual == p.Name, p.HasAPIKey, false,
	}
}

// profiles returns the model profiles of the workspace.
func (s *server) profiles(ctx context.Context) (equipment.ModelProfiles, error) {
	return dialect.Do(ctx, s.Company, equipment.Operations.ListModelProfiles, s.In())
}

func listModels(s *server, r *request) (any, error) {
	list, err := s.profiles(r.Context())
	rows := make([]modelRow, 0, len(list.Profiles))
	for _, p := range list.Profiles {
		rows = append(rows, rowOfModel(p, list.Default))
	}
	return rows, err
}

// modelBody is a profile that a client saves or probes.
type modelBody struct {
	Name           *string           `json:"name"`
	Provider       *string           `json:"provider"`
	Model          *string           `json:"model"`
	BaseURL        *string           `json:"base_url"`
	RequestHeaders map[string]string `json:"request_headers"`
	ContextWindow  *int64            `json:"context_window"`
	AgentID        *string           `json:"agent_id"`
	APIKey         *string           `json:"api_key"`
}

// modelIn reads a profile from a body. Profiles contain server addresses and keys, so they are
// accepted only from this machine.
func modelIn(r *request) (p modelBody, err error) {
	if !isNear(r.Request) {
		return p, refuse(http.StatusForbidden, "loopback only")
	}
	text, err := r.body(maxBody)
	if err == nil && len(text) > 0 {
		err = decodeObject(text, &p)
	}
	if refused, ok := errors.AsType[*refusal](err); ok && refused.body.Error == "bad json" {
		err = refuse(http.StatusBadRequest, "BAD_JSON")
	}
	return p, err
}

// change returns the changes of a profile. Members that are left out stay unchanged.
func (p *modelBody) change() modelprofile.Change {
	c := modelprofile.Change{
		Provider: p.Provider, Model: p.Model, BaseURL: p.BaseURL, ContextWindow: p.ContextWindow, AgentID: notEmpty(p.AgentID), APIKey: p.APIKey,
	}
	if p.RequestHeaders != nil {
		c.RequestHeaders = &p.RequestHeaders
	}
	return c
}

func createModel(s *server, r *request) (any, error) {
	p, err := modelIn(r)
	switch {
	case err != nil:
		return nil, err
	case p.Name == nil || *p.Name == "":
		return nil, refuse(http.StatusBadRequest, "NAME_REQUIRED")
	case p.Model == nil || *p.Model == "":
		return nil, refuse(http.StatusBadRequest, "MODEL_REQUIRED")
	}
	if p.Provider == nil || *p.Provider == "" {
		p.Provider = new("openai") // the protocol of compatible servers
	}
	return s.saveModel(r.Context(), equipment.PutModelProfileParams{Name: *p.Name, Create: new(true), Change: p.change()})
}

func updateModel(s *server, r *request) (any, error) {
	p, err := modelIn(r)
	if err != nil {
		return nil, err
	}
	put := equipment.PutModelProfileParams{Name: r.PathValue("name"), Create: new(false), Change: p.change()}
	if p.Name != nil && *p.Name != put.Name {
		put.RenameTo = *p.Name
	}
	if p.Model != nil && *p.Model == "" {
		return nil, refuse(http.StatusBadRequest, "MODEL_REQUIRED")
	}
	return s.saveModel(r.Context(), put)
}

func (s *server) saveModel(ctx context.Context, p equipment.PutModelProfileParams) (any, error) {
	p.Dir, p.PersonParams = s.In(), s.person()
	saved, err := dialect.Do(ctx, s.Company, equipment.Operations.PutModelProfile, p)
	if err != nil {
		return nil, modelRefusal(err)
	}
	list, err := s.profiles(ctx)
	return rowOfModel(saved, list.Default), err
}

// modelRefusal converts an error about a profile into the protocol's.
func modelRefusal(err error) error {
	code := http.StatusBadRequest
	var word string
	switch fault.ReasonOf(err) {
	case fault.ProfileExists:
		code, word = http.StatusConflict, "MODEL_NAME_EXISTS"
	case fault.ProfileNotFound:
		code, word = http.StatusNotFound, "MODEL_NOT_FOUND"
	case fault.ProfileInUse:
		code, word = http.StatusConflict, "MODEL_IN_USE"
	case fault.InvalidHeader, fault.EnvMissing:
		word = "INVALID_REQUEST_HEADER"
	case fault.InvalidURL:
		word = "INVALID_BASE_URL"
	case fault.HostNotAllowed:
		code, word = http.StatusForbidden, "HOST_NOT_ALLOWED"
	case fault.ProbeFailed:
		code, word = http.StatusBadGateway, "PROBE_FAILED"
	case fault.ProbeBadJSON:
		code, word = http.StatusBadGateway, "PROBE_BAD_JSON"
	case fault.ProbeHTTPError:
		status := 0
		if f, ok := errors.AsType[*fault.Error](err); ok {
			if data, ok := f.Data.(probe.HTTPStatus); ok {
				status = data.Status
			}
		}
		return &refusal{http.StatusBadGateway, errorBody{Error: "PROBE_HTTP_ERROR", Message: err.Error(), Status: status}}
	case fault.IO:
		code, word = http.StatusInternalServerError, "PERSIST_FAILED"
	default:
		return err
	}
	return explain(code, word, err.Error())
}

func deleteModel(s *server, r *request) (any, error) {
	if !isNear(r.Request) {
		return nil, refuse(http.StatusForbidden, "loopback only")
	}
	_, err := dialect.Do(r.Context(), s.Company, equipment.Operations.RemoveModelProfile, equipment.ModelProfileParams{
		Dir: s.In(), PersonParams: s.person(), Name: r.PathValue("name"),
	})
	if err != nil {
		return nil, modelRefusal(err)
	}
	return okAnswer{true}, nil
}

// probeAnswer lists the models of a server.
type probeAnswer struct {
	Models         []string         `json:"models"`
	ContextWindows map[string]int64 `json:"model_context_windows"`
}

func probeModels(s *server, r *request) (any, error) {
	p, err := modelIn(r)
	if err != nil {
		return nil, err
	}
	ask := equipment.ProbeParams{Dir: s.In(), PersonParams: s.person(), Provider: notEmpty(p.Provider), BaseURL: p.BaseURL, APIKey: p.APIKey}
	if p.RequestHeaders != nil {
		ask.RequestHeaders = &p.RequestHeaders
	}
	if p.Name != nil {
		ask.Name = *p.Name
	}
	found, err := dialect.Do(r.Context(), s.Company, equipment.Operations.ProbeModelProfile, ask)
	if err != nil {
		return nil, modelRefusal(err)
	}
	return probeAnswer{append([]string{}, found.Models...), found.ContextWindows}, nil
}

// usualModelAnswer is the default profile of new sessions.
type usualModelAnswer struct {
	Name *string `json:"name"`
}

func usualModel(s *server, r *request) (any, error) {
	list, err := s.profiles(r.Context())
	return usualModelAnswer{list.Default}, err
}

func setUsualModel(s *server, r *request) (any, error) {
	if !isNear(r.Request) {
		return nil, refuse(http.StatusForbidden, "loopback only")
	}
	var p struct {
		Name  *string `json:"default_model_name"`
		Other *string `json:"name"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	set, err := dialect.Do(r.Context(), s.Company, equipment.Operations.SetDefaultModelProfile, equipment.SetDefaultProfileParams{
		Dir: s.In(), PersonParams: s.person(), Name: notEmpty(cmp.Or(p.Name, p.Other)),
	})
	if err != nil {
		return nil, modelRefusal(err)
	}
	return usualModelAnswer{set.Default}, nil
}

// modelFor returns the model that a name stands for: a profile, else the id of a model. An empty
// name stands for the default profile, if that applies to the agent.
func (s *server) modelFor(ctx context.Context, name, provider string) (chosenModel, error) {
	list, err := s.profiles(ctx)
	if err != nil {
		return chosenModel{}, err
	}
	usual := name == "" && list.Default != nil
	if usual {
		name = *list.Default
	}
	i := slices.IndexFunc(list.Profiles, func(p modelprofile.Profile) bool { return p.Name == name })
	switch {
	case i < 0:
		return chosenModel{model: name}, checkModel(name)
	case slices.Contains(list.Profiles[i].Applies, doc.AnyWorkerKindOf(provider)):
		return chosenModel{profile: name, model: list.Profiles[i].Model}, nil
	case usual:
		return chosenModel{}, nil
	}
	return chosenModel{}, refuse(http.StatusBadRequest, "MODEL_NOT_FOR_AGENT")
}

// sessionModel is the model of a session as clients see it.
type sessionModel struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   *int64 `json:"context_window"`
	Deleted  bool   `json:"deleted"`
}

func (s *server) sessionModel(ctx context.Context, row workforce.RunWithLog) (sessionModel, error) {
	now := s.modelOf(&row)
	answer := sessionModel{Name: cmp.Or(now.profile, now.model), Provider: row.Provider, Model: now.model}
	if now.profile == "" {
		return answer, nil
	}
	list, err := s.profiles(ctx)
	answer.Deleted = true
	for _, p := range list.Profiles {
		if p.Name == now.profile {
			answer.Deleted, answer.Provider, answer.Model = false, p.Provider, p.Model
			if p.ContextWindow > 0 {
				answer.Window = &p.ContextWindow
			}
		}
	}
	return answer, err
}

func readSessionModel(s *server, r *request) (any, error) {
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return s.sessionModel(r.Context(), row)
}

func setSessionModel(s *server, r *request) (any, error) {
	row, err := s.conversation(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var p struct {
		Name json.RawMessage `json:"name"`
	}
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	var name string
	if json.Unmarshal(p.Name, &name) != nil || name == "" {
		return nil, bad("name must be a string")
	}
	model, err := s.modelFor(r.Context(), name, row.Provider)
	if err == nil && model.profile == "" {
		err = refuse(http.StatusBadRequest, "unknown model")
	}
	if err != nil {
		return nil, err
	}
	busy := false
	err = s.withHistory(r.Context(), row.ID, func(h *history) error {
		busy = row.Alive && h.mapper.Turn > 0
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case busy:
		return nil, refuse(http.StatusConflict, "session is busy")
	}
	if err := s.end(r.Context(), row.ID); err != nil { // the next text starts it with the model
		return nil, err
	}
	s.state.choose(row.ID, model)
	return s.sessionModel(r.Context(), row)
}
