package governance

// Help requests: questions to a manager.

import (
	"context"
	"path"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/workspace"
	"ac/workspace/doc"
)

// HelpSpec describes a help request. Nobody checks whether the people it names exist.
type HelpSpec struct {
	Title         string
	Visibility    string
	Requester     string
	TargetManager string
	ProjectID     string // optional
	SharePackID   string // optional
}

// HelpRequestFile returns the name of a help request's file.
func HelpRequestFile(id string) string { return path.Join(workspace.HelpRequestsDir, id+".md") }

// NewHelpRequest writes a help request and returns its id. The file is durable on return.
func NewHelpRequest(ctx context.Context, w *workspace.Workspace, spec HelpSpec) (string, error) {
	if err := doc.CheckTitle(spec.Title); err != nil {
		return "", err
	}
	request := doc.HelpRequest{
		SchemaVersion: doc.Version, Type: "help_request", ID: w.Env.IDs.New("help"), CreatedAt: clock.Stamp(w.Env.Clock.Now()), Title: spec.Title,
		Visibility: spec.Visibility, Requester: spec.Requester, TargetManager: spec.TargetManager, ProjectID: spec.ProjectID, SharePackID: spec.SharePackID,
	}
	text, err := WriteRecord(doc.HelpRequestCodec, request, []byte("# "+spec.Title+"\n\n## Question\n\n## Response\n"))
	if err != nil {
		return "", err
	}
	name := HelpRequestFile(request.ID)
	if _, _, err := workspace.DecodeHead(doc.HelpRequestCodec, name, text); err != nil {
		return "", err
	}
	return request.ID, w.Update(ctx, func(u *workspace.Unit) error { return u.Write(name, text, 0o644) })
}

// validHelp is a help request whose document has the required headings.
type validHelp struct{ doc.HelpRequest }

func readHelp(file string, text []byte) (valid validHelp, err error) {
	request, body, err := workspace.DecodeHead(doc.HelpRequestCodec, file, text)
	if err != nil {
		return valid, err
	}
	for _, heading := range helpHeadings() {
		if !frontmatter.HasHeading(body, heading) {
			return valid, fault.New(fault.InvalidFile, "%s: the heading %s is missing", file, heading)
		}
	}
	return validHelp{request}, workspace.CheckID(file, strings.TrimSuffix(path.Base(file), ".md"), request.ID)
}

// helpHeadings returns the headings of every help request.
func helpHeadings() []string { return []string{questionHeading, responseHeading} }

// HelpRequests lists the readable help requests, newest first. It skips invalid files, files
// without the headings, and files whose name is not their id.
func HelpRequests(w *workspace.Workspace, limit int) ([]doc.HelpRequest, error) {
	names, err := workspace.Files(w.FS, workspace.HelpRequestsDir, ".md")
	if err != nil {
		return nil, err
	}
	slices.Reverse(names)
	requests := []doc.HelpRequest{}
	for _, name := range names {
		if len(requests) == limit {
			break
		}
		file := path.Join(workspace.HelpRequestsDir, name)
		valid, err := workspace.LoadWith(w, file, func(text []byte) (validHelp, error) { return readHelp(file, text) })
		if err == nil {
			requests = append(requests, valid.HelpRequest)
		}
	}
	return requests, nil
}

// ValidateHelpRequest checks the front matter and the headings of a help request.
func ValidateHelpRequest(text []byte) []frontmatter.Issue {
	return frontmatter.Check(text, doc.HelpRequestCodec, func(doc.HelpRequest) []string { return helpHeadings() })
}
