package job

// Completing the files that a worker proposes, from the files in its repository. Each proposal
// records the version it is based on, and a selection is replaced inside its file.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxProposed bounds a file read for a proposal, in bytes.
const maxProposed = 1 << 20

// problemNotFound is the problem of a selection that cannot be located in its file.
const problemNotFound = "the selection is not in the saved file, or not only once; save the file and ask again"

// CodeElsewhere is the issue of an answer that replaces a selection in another file than that of
// the request.
const CodeElsewhere = "selection_elsewhere"

// completeFiles completes an answer with files. It turns selections into whole files where possible, and
// records the version that each file is based on. It does not modify the answer that was passed in.
func completeFiles(w *workspace.Workspace, job promptRequest, answer doc.JobAnswer) *doc.JobAnswer {
	root := openPlace(w, job)
	if root != nil {
		defer root.Close()
	}
	files := *answer.Answer.Files
	files.Files = slices.Clone(files.Files)
	answer.Files = nil
	for i := range files.Files {
		answer.Files = append(answer.Files, completeFile(root, job, &files.Files[i]))
	}
	answer.Answer.Files = &files
	return &answer
}

// openPlace opens the repository of a job's place, nil if there is none on this machine.
func openPlace(w *workspace.Workspace, job promptRequest) *os.Root {
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

// completeFile completes one file of an answer in place: it inserts the selection's new text. It
// returns the file's row.
func completeFile(root *os.Root, job promptRequest, f *doc.AnswerFile) doc.ProposedFile {
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

// proposalID returns the permanent id of a proposed file: the same job and path give the same id.
func proposalID(source, name string) string {
	return "fa_" + hashOf(source + "\x00" + name)[:16]
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// readProposed reads a file below a root. Links, other files that are not regular, and files over
// maxProposed count as absent; the code that applies the answer judges them.
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
	if err != nil || len(content) > maxProposed {
		return "", false
	}
	return string(content), true
}

// selection returns the attachment with the part of a file that the request is about.
func (job promptRequest) selection() (doc.Attachment, bool) {
	i := slices.IndexFunc(job.order.Attachments, func(a doc.Attachment) bool { return a.Name == doc.SelectionName && a.Path != "" })
	if i < 0 {
		return doc.Attachment{}, false
	}
	return job.order.Attachments[i], true
}

// misplaced returns issues for the selections of an answer that are in other files than that of the
// request.
func (job promptRequest) misplaced(a doc.Answer) (issues []doc.JobError) {
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

// splice returns a file in which text replaces the selection of the request.
func splice(job promptRequest, text, now string, there bool) (content, problem string) {
	if !there {
		return text, ""
	}
	selection, _ := job.selection() // only an answer to a request with one passes misplaced
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
		text = strings.ReplaceAll(text, "\n", "\r\n") // use the file's own line endings
	}
	return now[:from] + text + now[to:], ""
}

// findOnce locates a text that occurs exactly once in a file. It compares bytes first, then with
// CRLF and LF line endings taken as equal.
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

// offsetOf converts an offset in the text with LF line endings into an offset in the file.
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
