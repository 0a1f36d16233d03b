package job

// Files that a worker proposes, held against those in its repository: which file
// each is made from, and a new text for a selection put into its place.

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxProposed bounds a file that is read for a proposal, in bytes.
const maxProposed = 1 << 20

// problemNotFound is the problem of a selection that has no place in its file.
const problemNotFound = "the selection is not in the saved file, or not only once; save the file and ask again"

// CodeElsewhere is the issue of an answer with a selection for another file than
// that of the request.
const CodeElsewhere = "selection_elsewhere"

// propose completes an answer with files: selections become whole files where they
// can, and each file names what it is made from. The answer that is given stays as
// it is.
func propose(w *workspace.Workspace, job asked, answer doc.JobAnswer) *doc.JobAnswer {
	root := openPlace(w, job)
	if root != nil {
		defer root.Close()
	}
	files := *answer.Answer.Files
	files.Files = slices.Clone(files.Files)
	answer.Files = nil
	for i := range files.Files {
		answer.Files = append(answer.Files, proposed(root, job, &files.Files[i]))
	}
	answer.Answer.Files = &files
	return &answer
}

// openPlace opens the repository of a job's place, nil where it has none here.
func openPlace(w *workspace.Workspace, job asked) *os.Root {
	if job.order == nil || job.order.Place == nil {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return nil
	}
	dir, err := worktree.Root(machine, job.order.Place.RepoID)
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	return root
}

// proposed is one file of an answer, whose selection is put into its place.
func proposed(root *os.Root, job asked, f *doc.AnswerFile) doc.ProposedFile {
	name := path.Clean(f.Path)
	row := doc.ProposedFile{ID: proposalID(job.spec.JobID, name), Path: name}
	now, there := readProposed(root, name)
	if there {
		row.FromSHA256 = new(hashOf(now))
	}
	if f.Selection != nil {
		content, problem := splice(job, *f.Selection, now, there)
		if problem != "" {
			row.Problem = problem
			return row
		}
		f.Content, f.Selection = &content, nil
	}
	if f.Content != nil {
		row.NewSHA256 = new(hashOf(*f.Content))
	}
	return row
}

// proposalID names a proposed file for ever: the same job and path, the same id.
func proposalID(source, name string) string {
	return "fa_" + hashOf(source + "\x00" + name)[:16]
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// readProposed reads a file below a root. Links out of it, files that are none and
// files that are too long count as absent: the code that applies the answer judges them.
func readProposed(root *os.Root, name string) (text string, there bool) {
	if root == nil || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", false
	}
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() || st.Size() > maxProposed {
		return "", false
	}
	f, err := root.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxProposed+1))
	if err != nil || len(content) > maxProposed || errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	return string(content), true
}

// selection is the part of a file that a request is about.
func (job asked) selection() (doc.Attachment, bool) {
	i := slices.IndexFunc(job.order.Attachments, func(a doc.Attachment) bool { return a.Name == doc.SelectionName && a.Path != "" })
	if i < 0 {
		return doc.Attachment{}, false
	}
	return job.order.Attachments[i], true
}

// misplaced tells the selections of an answer that are for other files than that of
// the request.
func (job asked) misplaced(a doc.Answer) (issues []doc.JobError) {
	if a.Files == nil {
		return nil
	}
	asked, ok := job.selection()
	for i, f := range a.Files.Files {
		if f.Selection != nil && (!ok || path.Clean(f.Path) != path.Clean(asked.Path)) {
			issues = append(issues, doc.JobError{Code: CodeElsewhere, Message: fmt.Sprintf("files[%d].selection: the selection of the request is of another file", i)})
		}
	}
	return issues[:min(len(issues), maxIssues)]
}

// splice is a file with a new text in place of the selection of the request.
func splice(job asked, text, now string, there bool) (content, problem string) {
	if !there {
		return text, ""
	}
	selection, _ := job.selection() // an answer that has one was asked for one
	from, to, ok := findOnce(now, selection.Text)
	if !ok {
		return "", problemNotFound
	}
	old := now[from:to]
	text = strings.ReplaceAll(text, "\r\n", "\n")
	switch ends := strings.HasSuffix(old, "\n"); {
	case !ends:
		text = strings.TrimRight(text, "\n")
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	if strings.Contains(now, "\r\n") && !strings.Contains(strings.ReplaceAll(now, "\r\n", ""), "\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n") // the file's own line ends
	}
	return now[:from] + text + now[to:], ""
}

// findOnce finds the one place of a text in a file: byte for byte, else with both
// kinds of line ends taken as equal.
func findOnce(file, text string) (from, to int, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	if at := strings.Index(file, text); at >= 0 {
		return at, at + len(text), !strings.Contains(file[at+1:], text)
	}
	plain := strings.ReplaceAll(file, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	at := strings.Index(plain, text)
	if at < 0 || strings.Contains(plain[at+1:], text) {
		return 0, 0, false
	}
	return offsetOf(file, at), offsetOf(file, at+len(text)), true
}

// offsetOf is the place in a file of a place in its text with plain line ends.
func offsetOf(file string, plain int) int {
	at := 0
	for seen := 0; seen < plain; seen++ {
		if strings.HasPrefix(file[at:], "\r\n") {
			at++
		}
		at++
	}
	return at
}
