package company

// Checking single files, inside and outside of workspaces.

import (
	"path/filepath"

	"ac/governance"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// ValidateFile reads a markdown document from any path and checks it. An
// unreadable file is fault.InvalidFile.
func ValidateFile(file string, validate func(text []byte) []governance.Issue) ([]governance.Issue, error) {
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
