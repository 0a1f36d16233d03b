package workspace

// Tasks: markdown records of a project, found by id.

import (
	"path"
	"strings"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// TaskFile is the record of a task.
func TaskFile(project, id string) string { return path.Join(TasksDir(project), id+".md") }

// Task reads one task. It returns fault.NotFound if there is none.
func (w *Workspace) Task(project, id string) (doc.Task, error) {
	task, err := LoadHead(w, doc.TaskCodec, TaskFile(project, id))
	if err != nil {
		return task, missing(err, "task", id)
	}
	return task, CheckID(TaskFile(project, id), id, task.ID)
}

// Tasks reads the valid tasks of a project whose id matches their file name, sorted by id.
// Other readers may share them, so the caller must not change them.
func (w *Workspace) Tasks(project string) ([]doc.Task, error) {
	names, err := Files(w.FS, TasksDir(project), ".md")
	if err != nil {
		return nil, err
	}
	return ReadEach(names, func(name string) (doc.Task, error) { return w.Task(project, strings.TrimSuffix(name, ".md")) }), nil
}

// Task reads a task as the unit will leave it. The caller owns the result.
func (u *Unit) Task(project, id string) (doc.Task, error) {
	name := TaskFile(project, id)
	task, _, err := HeadIn(u, doc.TaskCodec, name)
	if err != nil {
		return task, missing(err, "task", id)
	}
	return task, CheckID(name, id, task.ID)
}

// PutTask rewrites the front matter of an existing task. It is a no-op if nothing changed,
// and returns fault.InvalidFile for a task that breaks its own rules.
func (u *Unit) PutTask(project string, task doc.Task) error {
	name := TaskFile(project, task.ID)
	text, err := doc.TaskCodec.Encode(task)
	if err != nil {
		return err
	}
	if _, err := Decode(doc.TaskCodec, name, text); err != nil {
		return fault.New(fault.InvalidFile, "the change does not fit: %w", err)
	}
	return PutHead(u, doc.TaskCodec, name, task)
}
