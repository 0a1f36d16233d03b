package maintenance

// workspace.open, workspace.validate, and validation of single files inside or outside of
// workspaces.

import (
	"context"
	"path/filepath"

	"ac/company"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
	"ac/workspace/validate"
)

// OpenResult is the result of workspace.open.
type OpenResult struct {
	WorkspaceDir string           `json:"workspace_dir"`
	Valid        bool             `json:"valid"`
	Issues       []validate.Issue `json:"issues"`
	Warnings     []validate.Issue `json:"warnings,omitempty"`
}

// Open reports the state of any folder.
func (c Folder) Open(ctx context.Context, _ company.Dir) (OpenResult, error) {
	found := c.validate(ctx, (*validate.Validator).ValidateQuickly)
	if found.Issues == nil {
		found.Issues = []validate.Issue{}
	}
	return OpenResult{WorkspaceDir: c.Given(), Valid: len(found.Issues) == 0, Issues: found.Issues, Warnings: found.Warnings}, nil
}

func (c Folder) validate(ctx context.Context, look func(*validate.Validator) validate.Findings) validate.Findings {
	// Once the workspace is open, the process watches its events.
	if in, err := c.Enter(ctx); err == nil {
		return look(in.Validator())
	}
	return validate.Folder(c.Host().Env(), c.Path())
}

// ValidateResult is the result of workspace.validate.
type ValidateResult struct {
	OK       bool             `json:"ok"`
	Issues   []validate.Issue `json:"issues,omitempty"`
	Warnings []validate.Issue `json:"warnings,omitempty"`
}

// Validate validates a folder.
func (c Folder) Validate(ctx context.Context, _ company.Dir) (ValidateResult, error) {
	found := c.validate(ctx, (*validate.Validator).Validate)
	return ValidateResult{OK: len(found.Issues) == 0, Issues: found.Issues, Warnings: found.Warnings}, nil
}

// ValidateFile reads a Markdown document from any path and validates it. An unreadable file is
// fault.InvalidFile.
func ValidateFile(file string, validate func(text []byte) []frontmatter.Issue) ([]frontmatter.Issue, error) {
	found, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, fault.New(fault.NotFound, "%s: %w", file, err)
	}
	root, err := durable.OpenRoot(filepath.Dir(found))
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s: %w", file, err)
	}
	defer root.Close()
	text, err := durable.ReadFile(root, filepath.Base(found), yamldoc.MaxBytes)
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", file, err)
	}
	return validate(text), nil
}
