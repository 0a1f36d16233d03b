package equipment

// model.profile.*: models that runs can be started with.

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"ac/company"
	"ac/internal/collation"
	"ac/internal/fault"
	"ac/internal/probe"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/workspace/doc"
)

// ModelProfiles is the result of model.profile.list, sorted by name.
type ModelProfiles struct {
	Profiles []modelprofile.Profile `json:"profiles"`
	Default  *string                `json:"default"`
}

// ListModelProfiles lists the model profiles of the workspace without their keys.
func (c Operations) ListModelProfiles(_ context.Context, _ company.Dir) (ModelProfiles, error) {
	machine, err := c.Workspace().Machine()
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	list := ModelProfiles{Profiles: []modelprofile.Profile{}}
	for name, p := range machine.ModelProfiles {
		list.Profiles = append(list.Profiles, modelprofile.ProfileOf(name, p))
	}
	name := func(p modelprofile.Profile) string { return p.Name }
	collation.SortBy(list.Profiles, name, name)
	if machine.DefaultModelProfile != "" {
		list.Default = &machine.DefaultModelProfile
	}
	return list, err
}

// PutModelProfileParams are the params of model.profile.put.
type PutModelProfileParams struct {
	company.Dir
	company.PersonParams
	Name     string `json:"name"`
	RenameTo string `json:"rename_to" is:"optional"`
	// Create requires a new profile if true, and an existing one if false.
	Create *bool `json:"create" is:"optional"`
	modelprofile.Change
}

// CheckFields rejects names that no profile can have.
func (p *PutModelProfileParams) CheckFields() (issues []fault.Issue) {
	for _, given := range []company.NamedText{{Name: "name", Value: p.Name}, {Name: "rename_to", Value: p.RenameTo}} {
		if why := modelprofile.CheckName(given.Value); why != "" && (given.Name == "name" || given.Value != "") {
			issues = append(issues, fault.Issue{Path: []any{given.Name}, Code: "custom", Message: why})
		}
	}
	return issues
}

// PutModelProfile adds a model profile, or changes the given fields of an existing one. The
// change affects sessions that start later.
func (c Operations) PutModelProfile(ctx context.Context, p PutModelProfileParams) (result modelprofile.Profile, err error) {
	names := []string{p.Name}
	if p.RenameTo != "" {
		names = append(names, p.RenameTo)
	}
	err = c.equip(ctx, p.Actor(), "model_profile", names, func(m *doc.Machine, s *doc.Secrets) error {
		kept, old, err := modelprofile.Find(*m, p.Name)
		known := err == nil
		switch {
		case known && p.Create != nil && *p.Create:
			return fault.New(fault.ProfileExists, "there is a model profile %s already", kept)
		case !known && (p.RenameTo != "" || p.Create != nil && !*p.Create):
			return err
		case !known && len(m.ModelProfiles) >= modelprofile.MaxProfiles:
			return fault.New(fault.TooLarge, "a workspace has at most %d model profiles", modelprofile.MaxProfiles)
		}
		name := cmp.Or(p.RenameTo, kept, p.Name)
		if other, _, err := modelprofile.Find(*m, name); err == nil && other != kept {
			return fault.New(fault.ProfileExists, "there is a model profile %s already", other)
		}
		before := &old
		if !known {
			before = nil
		}
		profile, err := p.Apply(before, s.ModelProfiles[kept])
		if err != nil {
			return err
		}
		modelprofile.Remove(m, s, kept)
		modelprofile.Put(m, s, name, profile)
		if known && m.DefaultModelProfile == kept {
			m.DefaultModelProfile = name
		}
		result = modelprofile.ProfileOf(name, profile)
		return nil
	})
	return result, err
}

// ModelProfileParams are the params of model.profile.remove.
type ModelProfileParams struct {
	company.Dir
	company.PersonParams
	Name string `json:"name"`
}

// RemoveModelProfile removes a model profile and its key, unless an agent is working with it. An
// idle session keeps the profile that it started with.
func (c Operations) RemoveModelProfile(ctx context.Context, p ModelProfileParams) (Removed, error) {
	used, err := c.profilesInUse(ctx)
	if err != nil {
		return Removed{}, err
	}
	err = c.equip(ctx, p.Actor(), "model_profile", []string{p.Name}, func(m *doc.Machine, s *doc.Secrets) error {
		kept, _, err := modelprofile.Find(*m, p.Name)
		if err != nil {
			return err
		}
		if used[kept] {
			return fault.New(fault.ProfileInUse, "an agent works with model profile %s", kept)
		}
		if modelprofile.Remove(m, s, kept); m.DefaultModelProfile == kept {
			m.DefaultModelProfile = ""
		}
		return nil
	})
	return Removed{err == nil}, err
}

// profilesInUse returns the profiles that agents are working with.
func (c Operations) profilesInUse(ctx context.Context) (map[string]bool, error) {
	records, err := session.All(c.Workspace())
	used := map[string]bool{}
	for _, record := range records {
		if record.ModelProfile == "" || doc.Terminal(record.Status) || !session.RefAlive(c.Workspace(), record.Ref) {
			continue
		}
		idle, err := c.Host().Logs().Idles(ctx, c.Workspace(), record.ProjectID, record.RunID)
		if !idle || err != nil { // a session with an unreadable log counts as working
			used[record.ModelProfile] = true
		}
	}
	return used, err
}

// SetDefaultProfileParams are the params of model.profile.set_default.
type SetDefaultProfileParams struct {
	company.Dir
	company.PersonParams
	Name *string `json:"name" is:"nullable"`
}

// DefaultProfile is the result of model.profile.set_default.
type DefaultProfile struct {
	Default *string `json:"default"`
}

// SetDefaultModelProfile sets the profile that clients offer first, null for none.
// Launches do not apply it by themselves.
func (c Operations) SetDefaultModelProfile(ctx context.Context, p SetDefaultProfileParams) (result DefaultProfile, err error) {
	names := []string{}
	if p.Name != nil {
		names = append(names, *p.Name)
	}
	err = c.equip(ctx, p.Actor(), "model_profile", names, func(m *doc.Machine, _ *doc.Secrets) error {
		m.DefaultModelProfile = ""
		if p.Name == nil {
			return nil
		}
		kept, _, err := modelprofile.Find(*m, *p.Name)
		m.DefaultModelProfile, result.Default = kept, &kept
		return err
	})
	return result, err
}

// ProbeParams are the params of model.profile.probe: the fields of a profile. If Name is set, the
// given fields override those of that profile.
type ProbeParams struct {
	company.Dir
	company.PersonParams
	Name           string             `json:"name" is:"optional"`
	Provider       *string            `json:"provider" is:"optional"`
	BaseURL        *string            `json:"base_url" is:"optional,empty"`
	RequestHeaders *map[string]string `json:"request_headers" is:"optional,empty"`
	APIKey         *string            `json:"api_key" is:"optional,empty"`
}

// ProbeModelProfile asks the server of a profile for its models. It connects only to allowed
// hosts and to loopback addresses.
func (c Operations) ProbeModelProfile(ctx context.Context, p ProbeParams) (probe.Result, error) {
	if err := c.mayEquip(ctx, p.Actor(), "model_profile"); err != nil {
		return probe.Result{}, err
	}
	machine, err := c.Workspace().Machine()
	if err != nil {
		return probe.Result{}, err
	}
	profile, err := c.probed(machine, p)
	if err != nil {
		return probe.Result{}, err
	}
	if profile.BaseURL == "" {
		return probe.Result{}, fault.New(fault.InvalidURL, "base_url is needed to ask for models")
	}
	if profile, err = modelprofile.Resolve(profile, os.Getenv); err != nil {
		return probe.Result{}, err
	}
	return probe.Models(ctx, probe.Request{BaseURL: profile.BaseURL, Headers: modelprofile.Authorize(profile), Allowed: machine.ModelHosts})
}

// probed returns the profile to probe with. A stored key is never sent to another server.
func (c Operations) probed(machine doc.Machine, p ProbeParams) (doc.ModelProfile, error) {
	change := modelprofile.Change{Provider: p.Provider, Model: new("any"), BaseURL: p.BaseURL, RequestHeaders: p.RequestHeaders, APIKey: p.APIKey}
	if p.Name == "" {
		if p.Provider == nil {
			change.Provider = new("any")
		}
		return change.Apply(nil, doc.ProfileSecrets{})
	}
	kept, old, err := modelprofile.Find(machine, p.Name)
	if err != nil {
		return old, err
	}
	secrets, err := c.Workspace().Secrets()
	if err != nil {
		return old, err
	}
	if p.BaseURL != nil && strings.TrimSuffix(*p.BaseURL, "/") != strings.TrimSuffix(old.BaseURL, "/") {
		old.APIKey, old.RequestHeaders = "", nil
	}
	return change.Apply(&old, secrets.ModelProfiles[kept])
}

// AllowModelHostParams are the params of machine:allow-model-host.
type AllowModelHostParams struct {
	company.Dir
	Host string `json:"host"`
}

// AllowModelHost allows model.profile.probe to connect to a host, on one port or on any.
func (c Operations) AllowModelHost(ctx context.Context, p AllowModelHostParams) (company.OK, error) {
	host := strings.ToLower(strings.TrimSpace(p.Host))
	if host == "" || strings.ContainsAny(host, "/@ \t\r\n\x00") {
		return company.OK{}, fault.InvalidField("host", "must be a host, or a host and a port")
	}
	return c.updateMachine(ctx, func(m *doc.Machine) {
		if !slices.Contains(m.ModelHosts, host) {
			m.ModelHosts = append(m.ModelHosts, host)
		}
	})
}
