package main

// Warnings about newer versions and advisories of the registry. If the registry cannot be reached,
// a note replaces them.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ac/internal/vendored"
)

// registryLimit bounds the total time of all registry requests.
const registryLimit = time.Minute

// warn prints newer versions and advisories of the vendored libraries. Failed lookups are not
// errors.
func warn(ctx context.Context) error {
	list, err := vendored.Read(os.DirFS(folder))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, registryLimit)
	defer cancel()
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Fprintln(os.Stderr, "note: newer versions and advisories were not looked up: there is no npm here")
		return nil
	}
	wanted := map[string]string{}
	for _, l := range list {
		wanted[l.Name] = l.Version
		newest, err := npm(ctx, ".", "view", l.Name, "version")
		if err != nil {
			fmt.Fprintln(os.Stderr, "note: newer versions and advisories were not looked up: the registry cannot be reached")
			return nil
		}
		if v := strings.TrimSpace(string(newest)); v != l.Version {
			fmt.Fprintf(os.Stderr, "warning: %s: the registry has %s\n", l.Folder(), v)
		}
	}
	if err := advisories(ctx, wanted); err != nil {
		fmt.Fprintf(os.Stderr, "note: advisories were not looked up: %v\n", err)
	}
	return nil
}

// advisories prints the known vulnerabilities of the versions.
func advisories(ctx context.Context, wanted map[string]string) error {
	dir, err := os.MkdirTemp("", "vendored-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // best effort: the system clears its temporary folder
	text, err := json.Marshal(map[string]any{"name": "vendored", "version": "1.0.0", "private": true, "dependencies": wanted})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), text, 0o600); err != nil {
		return err
	}
	if _, err := npm(ctx, dir, "install", "--package-lock-only", "--ignore-scripts", "--silent"); err != nil {
		return err
	}
	out, err := npm(ctx, dir, "audit", "--json") // npm fails if there are advisories
	var report struct {
		Vulnerabilities map[string]struct {
			Severity string `json:"severity"`
		} `json:"vulnerabilities"`
	}
	if bad := json.Unmarshal(out, &report); bad != nil {
		return fmt.Errorf("%w: %w", bad, err)
	}
	for name, found := range report.Vulnerabilities {
		fmt.Fprintf(os.Stderr, "warning: %s@%s has an advisory: %s\n", name, wanted[name], found.Severity)
	}
	return nil
}
