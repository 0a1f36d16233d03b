package heartbeat

// Reading and changing the heartbeat's config. Reading tolerates a broken file.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// TickRunning reports whether any process is running a tick. It returns an error if it cannot read
// the lock.
func TickRunning(w *workspace.Workspace) (bool, error) {
	return lock.Busy(w.FS, workspace.HeartbeatLock)
}

// Config returns the effective config. If the file is invalid, Config keeps the valid fields, uses
// defaults for the rest, and turns the heartbeat off. problem is then the reason.
func Config(w *workspace.Workspace) (config doc.HeartbeatConfig, problem error) {
	text, err := w.Read(workspace.HeartbeatConfigFile)
	return effective(text, err)
}

// effective derives the config from the result of reading its file.
func effective(text []byte, err error) (config doc.HeartbeatConfig, problem error) {
	if fault.Is(err, fault.NotFound) {
		return doc.DefaultHeartbeatConfig(), nil
	}
	if err == nil {
		config, err = validFields(text)
	} else {
		config = doc.DefaultHeartbeatConfig()
	}
	config.HeartbeatHierarchy = config.ForConfig()
	if err == nil {
		return config, nil
	}
	config.Enabled = false
	return config, fault.New(fault.InvalidFile, "%s: %w", workspace.HeartbeatConfigFile, err)
}

// validFields returns the valid fields of a config, and an error that describes the invalid ones.
func validFields(text []byte) (doc.HeartbeatConfig, error) {
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

// SetConfig changes the effective config and writes it out completely. It first copies an invalid
// file to a .broken name. A tick due later than one interval from now is moved forward. The change
// is durable on return.
func SetConfig(ctx context.Context, w *workspace.Workspace, change func(*doc.HeartbeatConfig)) (config doc.HeartbeatConfig, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		config, err = setConfig(u, change)
		return err
	})
	return config, err
}

// setConfig is SetConfig in a unit.
func setConfig(u *workspace.Unit, change func(*doc.HeartbeatConfig)) (doc.HeartbeatConfig, error) {
	now := u.Workspace().Env.Clock.Now()
	text, readErr := u.Read(workspace.HeartbeatConfigFile)
	config, problem := effective(text, readErr)
	if problem != nil && readErr == nil {
		broken := fmt.Sprintf("%s.broken-%d", workspace.HeartbeatConfigFile, now.UnixMilli())
		if err := u.Write(broken, text, 0o644); err != nil {
			return config, err
		}
	}
	change(&config)
	config.HeartbeatHierarchy = config.ForConfig()
	text, err := doc.HeartbeatConfigCodec.Encode(config)
	if err != nil {
		return config, err
	}
	if err := u.Write(workspace.HeartbeatConfigFile, text, 0o644); err != nil {
		return config, err
	}
	return config, advance(u, config, now)
}

// SetHierarchy changes the hierarchy of the effective config in a unit. It is a no-op if nothing
// changes.
func SetHierarchy(u *workspace.Unit, hierarchy doc.HeartbeatHierarchy) error {
	text, err := u.Read(workspace.HeartbeatConfigFile)
	if config, problem := effective(text, err); problem == nil && config.SameHierarchy(hierarchy) {
		return nil
	}
	_, err = setConfig(u, func(config *doc.HeartbeatConfig) { config.HeartbeatHierarchy = hierarchy })
	return err
}

// advance moves the next tick forward if it is due later than one interval from now. It ignores an
// invalid state: the functions that need its content handle that.
func advance(u *workspace.Unit, config doc.HeartbeatConfig, now time.Time) error {
	state, err := workspace.LoadIn(u, doc.HeartbeatStateCodec, workspace.HeartbeatStateFile)
	if err != nil || !config.Enabled {
		return nil //nolint:nilerr // as above, or there is no state yet
	}
	due := now.Add(interval(config))
	if next, ok := clock.Parse(state.NextTickAt); !ok || !next.After(due) {
		return nil
	}
	state.NextTickAt = clock.Stamp(due)
	return PutState(u, state)
}

func interval(config doc.HeartbeatConfig) time.Duration {
	return time.Duration(config.TickIntervalMinutes) * time.Minute
}
