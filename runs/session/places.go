package session

// Places in a command line that ac makes: the folders of the machine that executes it.

import (
	"path"
	"path/filepath"
	"strings"

	"ac/workspace"
	"ac/workspace/doc"
)

// Marks in the template of an agent that stand for folders of the machine where the session
// runs: where it leaves what is brought back, and where the files of its context pack lie.
const (
	outputsMark = "@{outputs}"
	contextMark = "@{context}"
)

// withFolders is a template with folders in place of their marks. The words that a caller gave
// stay as they are, and so do recorded ones: no path of one machine is of use on another.
func (s *supervisor) withFolders(template []string) ([]string, error) {
	all := strings.Join(template, "\x00")
	if !strings.Contains(all, outputsMark) && !strings.Contains(all, contextMark) {
		return template, nil
	}
	folder, err := s.contextFolder()
	if err != nil {
		return nil, err
	}
	folders := strings.NewReplacer(outputsMark, filepath.Join(s.w.Dir(), filepath.FromSlash(s.outDir)), contextMark, folder)
	words := make([]string, len(template))
	for i, word := range template {
		words[i] = folders.Replace(word)
	}
	return words, nil
}

// contextFolder is where the files of the run's context pack lie on this machine.
func (s *supervisor) contextFolder() (string, error) {
	if s.order.Away != nil {
		return s.order.Away.Context, nil
	}
	run, err := workspace.Load(s.w, doc.RunCodec, workspace.RunFile(s.order.ProjectID, s.order.RunID))
	if err != nil {
		return "", err
	}
	return filepath.Join(s.w.Dir(), filepath.FromSlash(path.Join(workspace.ContextPackDir(s.order.ProjectID, run.ContextPackID), "bundle"))), nil
}
