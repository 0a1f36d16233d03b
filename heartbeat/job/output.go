package job

// Reading a worker's output: choosing the file and extracting the text.

import (
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"ac/heartbeat/answer"
	"ac/internal/shape"
	"ac/runs/provider"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxOutput bounds how much is read from the end of an output, in bytes.
const maxOutput = 4 << 20

// outputFiles are the files that may contain an answer, best first. ac writes the run's other
// outputs itself.
var outputFiles = []string{"result_spec.json", "result_spec.jsonl", "last_message.md", "stdout.txt", "stderr.txt"}

// spokenFiles are the candidate files of a live session.
var spokenFiles = []string{"result_spec.json", "result_spec.jsonl", "last_message.md"}

// printedFiles are the candidate files of a command. They leave out last_message.md, which ac
// writes and which may hold only part of a long output.
var printedFiles = []string{"result_spec.json", "result_spec.jsonl", "stdout.txt", "stderr.txt"}

// output returns the first non-blank output of an attempt.
func output(w *workspace.Workspace, project, run string) (name, text string) {
	names := outputFiles
	switch {
	case wasSpoken(w, project, run):
		names = spokenFiles
	case wasCommand(w, project, run):
		names = printedFiles
	}
	for _, name := range names {
		if name == "stdout.txt" {
			if text, ok := lastPrinted(w, project, run); ok {
				return name, text
			}
		}
		text := outputFile(w, project, run, name)
		if strings.TrimSpace(text) != "" {
			return name, text
		}
	}
	return "", ""
}

// outputFile returns the end of one of a run's output files.
func outputFile(w *workspace.Workspace, project, run, name string) string {
	return tail(w, path.Join(workspace.RunDir(project, run), "outputs", name), maxOutput)
}

// tail returns the last limit bytes of a file, "" if it cannot be read.
func tail(w *workspace.Workspace, name string, limit int64) string {
	if st, err := w.FS.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return "" // not through a symlink, which may point anywhere
	}
	f, err := w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, st.Size()-limit), limit))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// explain describes why a session failed: its exit code and the agent's own error, else its error
// or exit and the end of its stderr.
func explain(w *workspace.Workspace, p jobRef, a doc.JobAttempt, s doc.Session) string {
	var parts []string
	switch {
	case s.Error != "" && s.ErrorKind != "" && s.ExitCode != nil && *s.ExitCode != 0:
		return "exit code " + strconv.Itoa(*s.ExitCode) + ": " + s.Error
	case s.Error != "" && s.ErrorKind != "":
		return s.Error
	case s.Error != "":
		parts = append(parts, s.Error)
	case s.Signal != nil:
		parts = append(parts, "ended by "+*s.Signal)
	case s.ExitCode != nil && *s.ExitCode != 0:
		parts = append(parts, "exit code "+strconv.Itoa(*s.ExitCode))
	default:
		parts = append(parts, "the run ended as "+s.Status)
	}
	stderr := []rune(strings.TrimSpace(tail(w, path.Join(workspace.RunDir(p.project, a.RunID), "outputs", "stderr.txt"), 4<<10)))
	words := string(stderr[max(0, len(stderr)-500):])
	if words != "" && !strings.Contains(s.Error, words) { // the error of a turn may already quote them
		parts = append(parts, words)
	}
	return strings.Join(parts, ": ")
}

// textOf extracts the answer from an output.
func textOf(file, providerName, text string) string {
	if file == "last_message.md" {
		return text
	}
	text = provider.WithoutEchoes(text)
	var found string
	cli, err := provider.CLIOf(providerName)
	if err != nil || provider.DriverOf(providerName) == provider.Codex {
		err = nil
		if found = lastMessage(text); found == "" {
			found = provider.LongestText(text)
		}
	} else {
		found, err = cli.Answer(text, "")
	}
	if err != nil || strings.TrimSpace(found) == "" {
		return text
	}
	return found
}

// lastMessage returns the agent's last message in a stream of codex events, "" if there is none.
func lastMessage(text string) (last string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "_message") {
			continue
		}
		v, ok := answer.Parse(strings.TrimSpace(line))
		if !ok || v.Kind != shape.Map {
			continue
		}
		item := v.Get("item")
		kind := item.Get("type").Text
		if kind == "" {
			kind = item.Get("item_type").Text
		}
		switch msg := v.Get("msg"); {
		case v.Get("type").Text == "item.completed" && (kind == "agent_message" || kind == "assistant_message"):
			last = item.Get("text").Text
		case msg.Get("type").Text == "agent_message":
			last = msg.Get("message").Text
		}
	}
	return last
}
