package company

// Sealing and verifying the history of a workspace.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ac/audit"
	"ac/workspace"
)

// SealParams are the params of the command audit:seal.
type SealParams struct {
	Dir
	// KeyFile is the file of the private key, created if missing. Empty means
	// the key of this user.
	KeyFile string `json:"-"`
	// Restart begins a new history after one that cannot be continued.
	Restart bool `json:"-"`
}

// SealAudit seals all logs of the workspace.
func (c *Company) SealAudit(ctx context.Context, p SealParams) (audit.SealResult, error) {
	w := c.w
	key, err := c.all.auditKey(p.KeyFile)
	if err != nil {
		return audit.SealResult{}, err
	}
	if p.Restart {
		return audit.SealAnew(ctx, w, key)
	}
	return audit.Seal(ctx, w, key)
}

// VerifyAuditParams are the params of the command audit:verify.
type VerifyAuditParams struct {
	Dir
	audit.Options `json:"-"`
}

// VerifyAudit verifies the logs of the workspace against its seals.
func (c *Company) VerifyAudit(ctx context.Context, p VerifyAuditParams) (audit.Report, error) {
	return audit.Verify(ctx, c.w, p.Options)
}

// AuditKey is the public key of a private one, which is created if the file is
// missing.
func (cs *Host) AuditKey(keyFile string) (string, error) {
	key, err := cs.auditKey(keyFile)
	return key.Public, err
}

func (cs *Host) auditKey(file string) (key audit.Key, err error) {
	if file == "" {
		if file, err = audit.DefaultKeyFile(); err != nil {
			return key, err
		}
	}
	return audit.LoadKey(cs.env, file)
}

// SealEvery seals every workspace that this process has opened, periodically,
// until ctx ends. Errors are reported, and the next round retries.
func (cs *Host) SealEvery(ctx context.Context, every time.Duration, keyFile string, told func(dir string, s audit.SealResult, err error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, w := range cs.opened() {
			key, err := cs.auditKey(keyFile)
			var s audit.SealResult
			if err == nil {
				s, err = audit.Seal(ctx, w, key)
			}
			if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
				told(w.Dir(), s, err)
			}
		}
	}
}

// opened are the workspaces that requests named.
func (cs *Host) opened() (all []*workspace.Workspace) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.open {
		all = append(all, o.ws)
	}
	slices.SortFunc(all, func(a, b *workspace.Workspace) int { return strings.Compare(a.Dir(), b.Dir()) })
	return all
}
