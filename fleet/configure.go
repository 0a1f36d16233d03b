package fleet

// Settings in hub.yaml.

import (
	"errors"
	"reflect"
	"strings"

	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
)

// Configure changes the given settings in the file of a stopped hub and returns all settings. It
// holds the hub's lock while it writes. If a hub is starting or ending, the error is
// fault.Locked.
func Configure(w *workspace.Workspace, given Settings) (Settings, error) {
	hold, err := lock.Try(w.FS, HubLock())
	if errors.Is(err, lock.ErrBusy) {
		err = fault.New(fault.Locked, "the hub is being started or ended; try again")
	}
	if err != nil {
		return Settings{}, err
	}
	defer func() { _ = hold.Release() }() // the kernel releases it at process exit at the latest
	config, err := workspace.Load(w, ConfigCodec, ConfigFile)
	if err != nil {
		return Settings{}, err
	}
	kept := Settings{}
	if config.Settings != nil {
		kept = *config.Settings
	}
	kept = kept.Over(given)
	all := Defaults().Over(kept)
	if err := all.Check(); err != nil {
		return Settings{}, err
	}
	config.Settings = &kept
	text, err := ConfigCodec.Encode(config)
	if err != nil {
		return Settings{}, err
	}
	return all, w.Replace(ConfigFile, text, 0o600)
}

// SettingNames returns the names of all settings.
func SettingNames() []string {
	of := reflect.TypeFor[Settings]()
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
