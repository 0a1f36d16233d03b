package maintenance

// Sealing and verifying the history of a workspace.

import (
	"context"
	"errors"
	"time"

	"ac/audit"
	"ac/company"
)

// SealParams are the params of the command audit:seal.
type SealParams struct {
	company.Dir
	// KeyFile is the file of the private key, created if missing. If empty, the key of this user
	// is used.
	KeyFile string `json:"-"`
	// Restart begins a new history if the current one cannot be continued.
	Restart bool `json:"-"`
}

// SealAudit seals all logs of the workspace.
func (c Operations) SealAudit(ctx context.Context, p SealParams) (audit.SealResult, error) {
	w := c.Workspace()
	key, err := auditKey(c.Host(), p.KeyFile)
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
	company.Dir
	audit.Options `json:"-"`
}

// VerifyAudit verifies the logs of the workspace against its seals.
func (c Operations) VerifyAudit(ctx context.Context, p VerifyAuditParams) (audit.Report, error) {
	return audit.Verify(ctx, c.Workspace(), p.Options)
}

// AuditKey returns the public key of the private key in a file. It creates the private key if the
// file is missing.
func AuditKey(cs *company.Host, keyFile string) (string, error) {
	key, err := auditKey(cs, keyFile)
	return key.Public, err
}

func auditKey(cs *company.Host, file string) (key audit.Key, err error) {
	if file == "" {
		if file, err = audit.DefaultKeyFile(); err != nil {
			return key, err
		}
	}
	return audit.LoadKey(cs.Env(), file)
}

// SealEvery periodically seals every workspace that the process has opened, until ctx ends. It
// passes each result to told. After an error, the next round retries.
func SealEvery(ctx context.Context, cs *company.Host, every time.Duration, keyFile string, told func(dir string, s audit.SealResult, err error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, w := range cs.Opened() {
			if ctx.Err() != nil {
				return
			}
			key, err := auditKey(cs, keyFile)
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
