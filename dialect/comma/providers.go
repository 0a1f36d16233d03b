package comma

// Providers and models: what this workspace can run.

import (
	"context"
	"slices"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/dialect"
	"ac/runs/provider"
)

// ownProvider is the provider id that stands for the workspace's own agents.
const ownProvider = "ac"

type providerList struct {
	Providers []providerRow `json:"providers"`
}

type providerRow struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	CredentialType string     `json:"credentialType"`
	AuthStatus     string     `json:"authStatus"`
	Models         []modelRow `json:"models"`
	ModelsSource   string     `json:"modelsSource"`
	IsCustom       bool       `json:"isCustom"`
	Error          string     `json:"error,omitempty"`
}

type modelRow struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type availableModels struct {
	Models []availableModel `json:"models"`
}

type availableModel struct {
	ID                  string   `json:"id"`
	Name                string   `json:"name,omitempty"`
	HasCredentials      bool     `json:"hasCredentials"`
	Providers           []string `json:"providers"`
	ConfiguredProviders []string `json:"configuredProviders"`
}

type providerNamed struct {
	ProviderID string `json:"providerId"`
}

// knownProviders are the agents and the providers of a workspace.
type knownProviders struct {
	agents []company.AgentRow
	rows   []providerRow
}

// providers returns the workspace's agents as one provider, and each provider that the agents or
// this machine have.
func (s *server) providers(ctx context.Context) (k knownProviders, err error) {
	if k.agents, err = s.agents(ctx); err != nil {
		return k, err
	}
	adapters := s.programs.Adapters(ctx)
	own := providerRow{ID: ownProvider, Name: "Agents of this workspace", CredentialType: "none", AuthStatus: "configured", Models: []modelRow{}, ModelsSource: "live"}
	rows := map[string]*providerRow{}
	add := func(id string) *providerRow {
		if rows[id] == nil {
			rows[id] = &providerRow{ID: id, Name: id, CredentialType: "none", AuthStatus: "configured", Models: []modelRow{}, ModelsSource: "catalog"}
			if why := missing(id, adapters); why != "" {
				rows[id].AuthStatus, rows[id].Error = "none", why
			}
		}
		return rows[id]
	}
	for _, a := range adapters {
		add(a.Provider)
	}
	for _, a := range k.agents {
		own.Models = append(own.Models, modelRow{a.AgentID, a.Name})
		row := add(a.Provider)
		if hint := (modelRow{ID: a.ModelHint}); hint.ID != "" && !slices.Contains(row.Models, hint) {
			row.Models = append(row.Models, hint)
		}
	}
	k.rows = []providerRow{own}
	for _, row := range rows {
		slices.SortFunc(row.Models, func(a, b modelRow) int { return strings.Compare(a.ID, b.ID) })
		k.rows = append(k.rows, *row)
	}
	slices.SortFunc(k.rows, func(a, b providerRow) int { return strings.Compare(a.ID, b.ID) })
	return k, nil
}

// missing returns why no program of a provider works, "" if one does or nothing is known about it.
func missing(id string, adapters []provider.Adapter) string {
	why, _ := dialect.UnavailableReason(company.AgentRow{Role: "worker", Provider: id}, adapters)
	return why
}

func (k knownProviders) has(id string) bool {
	return slices.ContainsFunc(k.rows, func(r providerRow) bool { return r.ID == id })
}

func (c *connection) listProviders(ctx context.Context, r *request) error {
	k, err := c.server.providers(ctx)
	if err != nil {
		return err
	}
	c.answer(r.RequestID, frame{"provider_list", providerList{k.rows}})
	return nil
}

// availableModels lists the agents, and the models that they use.
func (c *connection) availableModels(ctx context.Context, r *request) error {
	k, err := c.server.providers(ctx)
	if err != nil {
		return err
	}
	models := map[string]*availableModel{}
	for _, row := range k.rows {
		for _, m := range row.Models {
			if !strings.Contains(m.ID, r.ModelID) {
				continue
			}
			one := models[m.ID]
			if one == nil {
				one = &availableModel{ID: m.ID, Name: m.Name, Providers: []string{}, ConfiguredProviders: []string{}}
				models[m.ID] = one
			}
			one.Providers = append(one.Providers, row.ID)
			if k.configured(row, m) {
				one.ConfiguredProviders, one.HasCredentials = append(one.ConfiguredProviders, row.ID), true
			}
		}
	}
	list := []availableModel{}
	for _, m := range models {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b availableModel) int { return strings.Compare(a.ID, b.ID) })
	c.answer(r.RequestID, frame{"available_models", availableModels{list}})
	return nil
}

// configured reports whether a model of a provider can be used. For an agent of the workspace, that
// depends on the agent's own provider.
func (k knownProviders) configured(row providerRow, m modelRow) bool {
	if row.ID != ownProvider {
		return row.AuthStatus == "configured"
	}
	i := slices.IndexFunc(k.agents, func(a company.AgentRow) bool { return a.AgentID == m.ID })
	return i >= 0 && decisions.MayDoJobs(k.agents[i].Role) && slices.ContainsFunc(k.rows, func(r providerRow) bool {
		return r.ID == k.agents[i].Provider && r.AuthStatus == "configured"
	})
}

// registerProvider confirms a known provider. It changes nothing.
func (c *connection) registerProvider(ctx context.Context, r *request) error {
	k, err := c.server.providers(ctx)
	if err != nil {
		return err
	}
	if !k.has(r.ProviderID) {
		return fail("NOT_FOUND", "Provider %q is not known.", r.ProviderID)
	}
	c.answer(r.RequestID, frame{"provider_registered", providerNamed{r.ProviderID}})
	return nil
}

func (c *connection) unregisterProvider(_ context.Context, r *request) error {
	c.answer(r.RequestID, frame{"provider_unregistered", providerNamed{r.ProviderID}})
	return nil
}

func (c *connection) setCredential(context.Context, *request) error {
	return fail("INVALID_MESSAGE", "Credentials are kept by the agents' own programs; this server stores none.")
}

type trashList struct {
	Workspaces   []struct{} `json:"workspaces"` // always empty
	TotalEntries int        `json:"totalEntries"`
	TotalBytes   int        `json:"totalBytes"`
}

type trashCleared struct {
	Cleared    int `json:"cleared"`
	BytesFreed int `json:"bytesFreed"`
}

type hubPackages struct {
	Operation string     `json:"operation"`
	Available []struct{} `json:"available"` // always empty
	Installed []struct{} `json:"installed"` // always empty
}

func (c *connection) listTrash(_ context.Context, r *request) error {
	c.answer(r.RequestID, frame{"trash_list_result", trashList{Workspaces: []struct{}{}}})
	return nil
}

func (c *connection) clearTrash(_ context.Context, r *request) error {
	c.answer(r.RequestID, frame{"trash_clear_result", trashCleared{}})
	return nil
}

func (c *connection) restoreTrash(context.Context, *request) error {
	return fail("RESTORE_FAILED", "There is no trash; a run's files can be reverted from its artifacts.")
}

func (c *connection) listHub(_ context.Context, r *request) error {
	c.answer(r.RequestID, frame{"hub_packages", hubPackages{"list", []struct{}{}, []struct{}{}}})
	return nil
}

func (c *connection) refuseHub(context.Context, *request) error {
	return fail("HUB_ERROR", "Packages are not fetched by this server.")
}
