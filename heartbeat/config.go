// Package heartbeat wakes workers and carries out what they ask for. Its files
// belong to it alone, but several processes write them, so that each is read
// anew for what is decided.
//
// Invariants: a broken config is never an enabled heartbeat; what an action's
// key says was executed is not executed again.
package heartbeat

import (
	"errors"
	"path"
	"slices"

	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

const dir = ".local/heartbeat"

// ConfigFile is where the config lies, StateFile the state.
func ConfigFile() string { return path.Join(dir, "config.yaml") }
func StateFile() string  { return path.Join(dir, "state.yaml") }

// Config is the effective config. Of a file that does not fit, what does is
// taken, the rest is as usual, and the heartbeat is off; problem says why then.
func Config(w *workspace.Workspace) (config doc.HeartbeatConfig, problem error) {
	text, err := w.Read(ConfigFile())
	if fault.Is(err, fault.NotFound) {
		return doc.DefaultHeartbeatConfig(), nil
	}
	if err == nil {
		config, err = salvage(text)
	} else {
		config = doc.DefaultHeartbeatConfig()
	}
	if err == nil {
		return config, nil
	}
	config.Enabled = false
	return config, fault.New(fault.InvalidFile, "%s: %w", ConfigFile(), err)
}

// salvage takes from a config what fits, and says what does not.
func salvage(text []byte) (doc.HeartbeatConfig, error) {
	value, err := yamldoc.Parse(text)
	if err != nil {
		return doc.DefaultHeartbeatConfig(), err
	}
	config, err := doc.HeartbeatConfigCodec.Bind(&value)
	misfit, ok := errors.AsType[*yamldoc.SchemaError](err)
	if !ok {
		return config, err
	}
	bad := map[string]bool{}
	for _, issue := range misfit.Issues {
		if len(issue.Path) > 0 {
			if name, ok := issue.Path[0].(string); ok {
				bad[name] = true
			}
		}
		for _, key := range issue.Keys {
			bad[key] = true
		}
	}
	for i := len(value.Keys) - 1; i >= 0; i-- {
		if bad[value.Keys[i]] {
			value.Keys = slices.Delete(value.Keys, i, i+1)
			value.Items = slices.Delete(value.Items, i, i+1)
		}
	}
	if config, again := doc.HeartbeatConfigCodec.Bind(&value); again == nil {
		return config, err
	}
	return doc.DefaultHeartbeatConfig(), err
}
