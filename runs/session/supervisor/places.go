package supervisor

// Command lines built by ac, with this machine's folders in place of their marks.

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// outputsMark stands in an agent's template for the folder of the files to bring back.
const outputsMark = "@{outputs}"

// expandedArgv returns an order's command line. In one built by ac, the marks become this machine's
// folders.
func (s *supervisor) expandedArgv() ([]string, error) {
	if !s.order.ArgvHasMarks {
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

// withFolders returns a template with folders in place of their marks. A caller's own command
// lines and recorded ones are never expanded: a path of one machine is useless on another.
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

// contextFolder returns the directory of the run's context pack on this machine.
func (s *supervisor) contextFolder() (string, error) {
	if s.order.Worker != nil {
		return s.order.Worker.Context, nil
	}
	run, err := workspace.Load(s.w, doc.RunCodec, workspace.RunFile(s.order.ProjectID, s.order.RunID))
	if err != nil {
		return "", err
	}
	return filepath.Join(s.w.Dir(), filepath.FromSlash(path.Join(workspace.ContextPackDir(s.order.ProjectID, run.ContextPackID), "bundle"))), nil
}
