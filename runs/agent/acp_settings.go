package agent

// The settings of an ACP session: its model and its mode. An agent offers a mode as a mode of the
// protocol, or as one of its configuration options.

import (
	"encoding/json"
	"slices"
)

// acpOption is a setting of a session.
type acpOption struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Current  string `json:"currentValue"`
	Options  []struct {
		Value string `json:"value"`
	} `json:"options"`
}

// choose requests the model, if the agent offers it.
func (a *acp) choose(models []string) error {
	model := a.start.Model
	if option, ok := a.option("model", model); ok && model != "" {
		return a.set(option, model, func() {})
	}
	if model == "" || !slices.Contains(models, model) {
		if model != "" && !a.start.Named {
			a.host.Notice("The agent does not offer the model " + model + ": it works with its own.")
		}
		return nil
	}
	return a.rpc.call("session/set_model", struct {
		ID    string `json:"sessionId"`
		Model string `json:"modelId"`
	}{a.thread, model}, a.settingHandler("the model "+model, func() {}, func(json.RawMessage) { a.setModel(model) }))
}

// settingHandler returns a handler for the response to a setting. It calls answered, and then granted on
// success. A refusal causes a notice only.
func (a *acp) settingHandler(what string, answered func(), granted func(result json.RawMessage)) func(json.RawMessage, *failure) {
	return func(result json.RawMessage, failed *failure) {
		answered()
		if failed == nil {
			granted(result)
			return
		}
		a.host.Notice("The agent does not take " + what + ": " + failed.words())
	}
}

// option returns the setting of a category that offers a value.
func (a *acp) option(category, value string) (acpOption, bool) {
	for _, o := range a.config {
		for _, offered := range o.Options {
			if o.Category == category && offered.Value == value {
				return o, true
			}
		}
	}
	return acpOption{}, false
}

func (a *acp) set(o acpOption, value string, answered func()) error {
	return a.rpc.call("session/set_config_option", struct {
		ID     string `json:"sessionId"`
		Option string `json:"configId"`
		Value  string `json:"value"`
	}{a.thread, o.ID, value}, a.settingHandler("the "+o.Category+" "+value, answered, func(json.RawMessage) {
		for i := range a.config {
			if a.config[i].ID == o.ID {
				a.config[i].Current = value
			}
		}
		if o.Category == "model" {
			a.setModel(value)
		}
	}))
}

// settings records the session's settings, as the agent reported all of them.
func (a *acp) settings(options []acpOption) {
	a.config = options
	for _, o := range options {
		switch {
		case o.Category == "model":
			a.setModel(o.Current)
		case o.Category == "mode" && slices.Contains(a.modes, o.Current):
			a.mode = o.Current
		}
	}
}

func (a *acp) Mode(mode string) error {
	wanted := "default"
	if mode == "plan" {
		wanted = mode
	}
	if slices.Contains(a.modes, wanted) {
		if orElse(a.requested, a.mode) == wanted {
			return nil
		}
		return a.rpc.call("session/set_mode", struct {
			ID   string `json:"sessionId"`
			Mode string `json:"modeId"`
		}{a.thread, wanted}, a.settingHandler("the mode "+wanted, a.requestMode(wanted), func(json.RawMessage) { a.mode = wanted }))
	}
	for _, o := range a.config {
		if o.Category != "mode" {
			continue
		}
		value := o.usual()
		if wanted == "plan" {
			value = wanted
		}
		if _, offered := a.option("mode", value); offered && orElse(a.requested, o.Current) != value {
			return a.set(o, value, a.requestMode(value))
		}
	}
	return nil
}

// requestMode records that a mode is requested. The returned function records the agent's response
// to that request. Only the newest request counts.
func (a *acp) requestMode(mode string) (answered func()) {
	a.requests++
	n := a.requests
	a.requested = mode
	return func() {
		if a.requests == n {
			a.requested = ""
		}
	}
}

// usual returns a value of a mode setting other than plan.
func (o acpOption) usual() string {
	if o.Current != "plan" {
		return o.Current
	}
	for _, offered := range o.Options {
		if offered.Value != "plan" {
			return offered.Value
		}
	}
	return o.Current
}
