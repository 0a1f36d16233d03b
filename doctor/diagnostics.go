package doctor

// The diagnostics bundle: a directory of JSON files without secrets, for sharing.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"ac/internal/canonjson"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/provider"
	"ac/workspace/doc"
)

// SessionFigures are the manifest's counts of sessions.
type SessionFigures struct {
	Total   int `json:"total"`
	Running int `json:"running"`
}

// MonitorFigures are the manifest's figures of the monitor.
type MonitorFigures struct {
	Rows         int  `json:"rows"`
	IndexRebuilt bool `json:"index_rebuilt"`
	IndexSynced  bool `json:"index_synced"`
}

// InboxFigures are the manifest's counts of the inbox.
type InboxFigures struct {
	Pending         int        `json:"pending"`
	RecentDecisions int        `json:"recent_decisions"`
	ParseErrors     ItemErrors `json:"parse_errors"`
}

// ItemErrors counts inbox items whose runs have malformed log lines.
type ItemErrors struct {
	Any       bool  `json:"has_parse_errors"`
	Pending   int   `json:"pending_with_errors"`
	Decisions int   `json:"decisions_with_errors"`
	Most      int64 `json:"max_parse_error_count"`
}

// Parts produce the parts of a bundle. A part that needs the index is left out if it fails,
// since a bundle is needed most when something is broken.
type Parts struct {
	Sessions func(ctx context.Context) (any, SessionFigures, error)
	Monitor  func(ctx context.Context) (any, MonitorFigures, error)
	Inbox    func(ctx context.Context) (any, InboxFigures, error)
	Stats    func(ctx context.Context) (any, error)
}

// BundleFiles holds the names of a bundle's files, null for missing ones.
type BundleFiles struct {
	Manifest    string  `json:"manifest"`
	Doctor      string  `json:"doctor"`
	Adapters    string  `json:"adapters"`
	Sessions    string  `json:"sessions"`
	Monitor     *string `json:"monitor_snapshot"`
	ReviewInbox *string `json:"review_inbox_snapshot"`
	IndexStats  *string `json:"index_stats"`
}

// Bundle is a completed bundle.
type Bundle struct {
	WorkspaceDir string      `json:"workspace_dir"`
	OutDir       string      `json:"out_dir"`
	BundleDir    string      `json:"bundle_dir"`
	GeneratedAt  string      `json:"generated_at"`
	Files        BundleFiles `json:"files"`
}

// manifest is manifest.json. It is written last.
type manifest struct {
	SchemaVersion int             `json:"schema_version"`
	Type          string          `json:"type"`
	GeneratedAt   string          `json:"generated_at"`
	WorkspaceDir  string          `json:"workspace_dir"`
	Runtime       runtimeFigures  `json:"runtime"`
	Doctor        doctorFigures   `json:"doctor"`
	Monitor       *MonitorFigures `json:"monitor"`
	ReviewInbox   *InboxFigures   `json:"review_inbox"`
	Sessions      SessionFigures  `json:"sessions"`
	Files         BundleFiles     `json:"files"`
	LeftOut       []string        `json:"left_out,omitempty"` // with the reasons
}

type runtimeFigures struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Arch     string `json:"arch"`
}

type doctorFigures struct {
	OK      bool    `json:"ok"`
	Summary Summary `json:"summary"`
	Checks  int     `json:"checks"`
}

// BundleOptions holds the parameters of a bundle.
type BundleOptions struct {
	OutDir  string
	Version string   // the version of this program
	Environ []string // secrets in these variables are masked
	Parts   Parts
}

// WriteBundle creates a bundle in a new directory under OutDir, which it creates if necessary.
// It removes secrets from every file. A bundle with a manifest is complete.
func WriteBundle(ctx context.Context, p Target, o BundleOptions) (Bundle, error) {
	if p.Workspace == nil {
		return Bundle{}, fault.New(fault.NotAWorkspace, "%s is not a workspace", p.RequestedDir)
	}
	now := p.Env.Clock.Now().UTC()
	b := Bundle{WorkspaceDir: p.RequestedDir, OutDir: o.OutDir, GeneratedAt: clock.Stamp(now), Files: BundleFiles{
		Manifest: "manifest.json", Doctor: "doctor.json", Adapters: "adapters.json", Sessions: "sessions.json",
	}}
	name := fmt.Sprintf("agentcompany-diagnostics-%s-%d", now.Format("20060102T150405"), p.Env.PID)
	var err error
	if b.BundleDir, err = makeBundleDir(o.OutDir, name); err != nil {
		return b, fault.New(fault.IO, "create a bundle in %s: %w", o.OutDir, err)
	}
	root, err := durable.OpenRoot(b.BundleDir)
	if err != nil {
		return b, fault.New(fault.IO, "create a bundle in %s: %w", o.OutDir, err)
	}
	w := &bundler{root: root, redactor: redact.NewRedactor(redact.FromEnviron(o.Environ))}
	m, err := w.parts(ctx, p, o, &b)
	if err == nil {
		m.SchemaVersion, m.Type, m.GeneratedAt, m.WorkspaceDir = 1, "workspace_diagnostics", b.GeneratedAt, p.Dir
		m.Runtime = runtimeFigures{"ac", o.Version, runtime.GOOS, runtime.GOARCH}
		m.Files = b.Files
		err = w.write(b.Files.Manifest, m)
	}
	if err = errors.Join(err, root.SyncDir("."), root.Close()); err != nil {
		return b, fmt.Errorf("create the bundle %s: %w", b.BundleDir, err)
	}
	return b, nil
}

// makeBundleDir creates a new directory. If the name is taken, it appends a number.
func makeBundleDir(outDir, name string) (string, error) {
	if err := os.MkdirAll(outDir, 0o755); err != nil { //nolint:gosec // a directory of the user's choice
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(outDir, name)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// bundler writes the files of one bundle.
type bundler struct {
	root     *durable.Root
	redactor *redact.Redactor
}

func (w *bundler) parts(ctx context.Context, p Target, o BundleOptions, b *Bundle) (m manifest, err error) {
	report := RunChecks(ctx, p)
	m.Doctor = doctorFigures{report.OK, report.Summary, len(report.Checks)}
	if err := w.write(b.Files.Doctor, report); err != nil {
		return m, err
	}
	machine, _, err := p.machine()
	if err != nil {
		machine = doc.Machine{} // fall back to the providers' default names, like the report
	}
	if err := w.write(b.Files.Adapters, provider.StatusWithin(ctx, machine, p.programs(), probePatience)); err != nil {
		return m, err
	}
	sessions, figures, err := o.Parts.Sessions(ctx)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return m, err
	}
	m.Sessions = figures
	if err := w.write(b.Files.Sessions, sessions); err != nil {
		return m, err
	}
	err = w.snapshots(ctx, o.Parts, &m, b)
	return m, err
}

// snapshots writes the parts that need the index.
func (w *bundler) snapshots(ctx context.Context, parts Parts, m *manifest, b *Bundle) error {
	add := func(name string, file **string, part any, err error) (bool, error) {
		if err != nil {
			m.LeftOut = append(m.LeftOut, name+": "+err.Error())
			return false, ctx.Err()
		}
		*file = &name
		return true, w.write(name, part)
	}
	monitor, rows, err := parts.Monitor(ctx)
	there, err := add("monitor.snapshot.json", &b.Files.Monitor, monitor, err)
	if err != nil {
		return err
	}
	if there {
		m.Monitor = &rows
	}
	inbox, items, err := parts.Inbox(ctx)
	there, err = add("review_inbox.snapshot.json", &b.Files.ReviewInbox, inbox, err)
	if err != nil {
		return err
	}
	if there {
		m.ReviewInbox = &items
	}
	stats, err := parts.Stats(ctx)
	_, err = add("index.stats.json", &b.Files.IndexStats, stats, err)
	return err
}

// write writes one file as indented JSON, with secrets removed.
func (w *bundler) write(name string, v any) error {
	text, err := canonjson.Marshal(v)
	if err != nil {
		return err
	}
	if text, err = w.redactor.JSON(nil, text); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	return durable.WriteNew(w.root, name, out.Bytes(), 0o600)
}
