package company

// Files of artifacts outside of workspaces.

import "ac/governance"

// NewArtifact writes the template of an artifact to any file. It replaces an
// existing one only with force.
func (cs *Host) NewArtifact(file string, spec governance.ArtifactSpec, force bool) error {
	text, err := governance.Template(spec.Head(cs.env))
	if err != nil {
		return err
	}
	return governance.WriteFile(cs.env, file, text, force)
}
