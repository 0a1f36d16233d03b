package company

// Artifact files outside of workspaces.

import "ac/governance"

// NewArtifact writes the template of an artifact to any file. It replaces an existing file only
// if force is set.
func (cs *Host) NewArtifact(file string, spec governance.ArtifactSpec, force bool) error {
	text, err := governance.Template(spec.Head(cs.env))
	if err != nil {
		return err
	}
	return governance.WriteFile(cs.env, file, text, force)
}
