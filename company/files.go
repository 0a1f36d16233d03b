package company

// Checking single files, inside and outside of workspaces.

import (
	"path/filepath"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/yamldoc"
)

// ValidateFile reads a Markdown document from any path and checks it. An
// unreadable file is fault.InvalidFile.
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
