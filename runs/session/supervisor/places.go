package supervisor

// Command lines that ac makes, with the folders of this machine in place of their marks.

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// outputsMark stands in the template of an agent for where it leaves what is brought back.
const outputsMark = "@{outputs}"

// madeWords are the words to be executed of an order, those of ac with the folders of this
// machine.
func (s *supervisor) madeWords() ([]string, error) {
	if !s.order.Made {
		return s.order.Argv, nil
	}
	words, err := s.withFolders(s.order.Argv)
	if err != nil {
		return nil, err
	}
	here := strings.NewReplacer(session.WorkdirMark, s.workdir, session.ProgramMark, s.host.Executable)
	for i, word := range words {
		words[i] = here.Replace(word)
	}
	return words, nil
}

// withFolders is a template with folders in place of their marks. The words that a caller gave
// stay as they are, and so do recorded ones: no path of one machine is of use on another.
func (s *supervisor) withFolders(template []string) ([]string, error) {
	all := strings.Join(template, "\x00")
	if !strings.Contains(all, outputsMark) && !strings.Contains(all, session.ContextMark) {
		return slices.Clone(template), nil
	}
	folder, err := s.contextFolder()
	if err != nil {
		return nil, err
	}
	folders := strings.NewReplacer(outputsMark, filepath.Join(s.w.Dir(), filepath.FromSlash(s.outDir)), session.ContextMark, folder)
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
