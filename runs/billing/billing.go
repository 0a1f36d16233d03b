// Package billing stores the bills of providers, for comparison with the usage of runs.
//
// Invariants: a statement is replaced as a whole, by its id. The file is read, changed and
// written under the write lock, so that no update is lost. A file that cannot be read is never
// overwritten.
package billing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/workspace"
	"ac/workspace/doc"
)

// Key returns the key under which a provider's figures are summed. All names of a provider have
// the same key.
func Key(provider string) string {
	key := strings.ToLower(strings.TrimSpace(provider))
	if known := doc.ProviderNamed(strings.ReplaceAll(key, "-", "_")); known.Driver != "" {
		return string(known.Driver)
	}
	return key
}

// Period is the time between two instants, both inclusive. A zero instant means
// unbounded.
type Period struct{ From, To time.Time }

// ParseEnd parses the end of a period. A date without a time means the end of that day.
func ParseEnd(text string) (time.Time, bool) {
	at, ok := clock.ParseDate(text)
	if ok && len(text) == len(time.DateOnly) {
		at = at.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return at, ok
}

// Overlaps reports whether two periods overlap.
func (p Period) Overlaps(other Period) bool {
	before := func(end, start time.Time) bool { return !end.IsZero() && !start.IsZero() && end.Before(start) }
	return !before(p.To, other.From) && !before(other.To, p.From)
}

// PeriodOf returns the period that a statement covers.
func PeriodOf(s doc.Statement) (p Period) {
	p.From, _ = clock.ParseDate(s.PeriodStart)
	p.To, _ = ParseEnd(s.PeriodEnd)
	return p
}

// Statements returns the statements of a workspace, newest first. The error is fault.InvalidFile
// if the file cannot be parsed.
func Statements(w *workspace.Workspace) ([]doc.Statement, error) {
	file, err := workspace.Load(w, doc.StatementsCodec, workspace.StatementsFile)
	if fault.Is(err, fault.NotFound) {
		return []doc.Statement{}, nil
	}
	return file.Statements, err
}

// Record stores a statement and replaces one with the same id. It generates a missing id. The
// statement is durable on return.
func Record(ctx context.Context, w *workspace.Workspace, s doc.Statement) (doc.Statement, error) {
	for _, text := range []struct{ label, text string }{
		{"usage_reconciliation.notes", s.Notes}, {"usage_reconciliation.external_ref", s.ExternalRef},
	} {
		if err := redact.CheckNoSecret(text.label, text.text); err != nil {
			return s, err
		}
	}
	s.SchemaVersion, s.Type, s.ProviderKey = doc.Version, "usage_reconciliation_statement", Key(s.Provider)
	if s.StatementID == "" {
		s.StatementID = w.Env.IDs.New("stmt")
	}
	err := w.Update(ctx, func(u *workspace.Unit) error {
		file, err := workspace.LoadIn(u, doc.StatementsCodec, workspace.StatementsFile)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		s.ImportedAt = clock.Stamp(w.Env.Clock.Now())
		kept := slices.DeleteFunc(slices.Clone(file.Statements), func(old doc.Statement) bool { return old.StatementID == s.StatementID })
		kept = append(kept, s)
		slices.SortFunc(kept, func(a, b doc.Statement) int {
			return cmp.Or(cmp.Compare(b.ImportedAt, a.ImportedAt), cmp.Compare(a.StatementID, b.StatementID))
		})
		text, err := pretty(doc.Statements{SchemaVersion: doc.Version, Type: "usage_reconciliation_statements", UpdatedAt: s.ImportedAt, Statements: kept})
		if err != nil {
			return err
		}
		return u.Write(workspace.StatementsFile, text, 0o644)
	})
	return s, err
}

// pretty encodes a value as indented JSON with a final newline.
func pretty(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return text.Bytes(), err
}
