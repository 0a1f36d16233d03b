package acecode

// Files attached to a session.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/events"
	"ac/internal/clip"
	"ac/internal/fault"
	"ac/runs"
)

// attachedFile is an attached file as clients see it.
type attachedFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MIMEType string `json:"mime_type"`
	Kind     string `json:"kind"` // image or file
	Size     int64  `json:"size_bytes"`

	path    string // on this machine
	relpath string
}

// images returns the media types that are shown as images.
func images() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func fileOf(a runs.Attachment) attachedFile {
	kind := "file"
	if slices.Contains(images(), a.MediaType) {
		kind = "image"
	}
	return attachedFile{ID: a.ID, Name: a.Name, MIMEType: a.MediaType, Kind: kind, Size: a.Size, relpath: a.Relpath}
}

type attachBody struct {
	Name          string  `json:"name"`
	MIMEType      string  `json:"mime_type"`
	Data          *string `json:"data_base64"`
	ReferenceOnly bool    `json:"reference_only"`
	SourcePath    string  `json:"source_path"`
}

type attachedAnswer struct {
	Attachment attachedFile `json:"attachment"`
}

func attach(s *server, r *request) (any, error) {
	row, err := s.conversation(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var body attachBody
	if err := r.decodeUpTo(maxAttachment, &body); err != nil {
		return nil, err
	}
	switch {
	case body.ReferenceOnly || body.SourcePath != "":
		return nil, refuse(http.StatusBadRequest, "files are not read on behalf of clients")
	case strings.TrimSpace(body.Name) == "" || len(body.Name) > 255:
		return nil, bad("name must have 1 to 255 bytes")
	case body.Data == nil:
		return nil, bad("data_base64 must be a string")
	}
	if _, err := base64.StdEncoding.DecodeString(*body.Data); err != nil {
		return nil, bad("data_base64 must be base64")
	}
	p := orchestration.AttachParams{Name: body.Name, MediaType: clip.Head(body.MIMEType, 200), Content: *body.Data}
	s.act(&p, row.ID)
	made, err := dialect.Do(r.Context(), s.Company, orchestration.Operations.Attach, p)
	if fault.Is(err, fault.TooLarge) {
		return nil, explain(http.StatusRequestEntityTooLarge, "too_large", err.Error())
	}
	return status{http.StatusCreated, attachedAnswer{fileOf(made)}}, err
}

// attached returns the files attached to a session, from its log.
func (s *server) attached(ctx context.Context, id string) (files []attachedFile, err error) {
	for since := int64(0); ; {
		page, err := dialect.Do(ctx, s.Company, orchestration.Operations.ReplayEvents, orchestration.ReplayEventsParams{
			Dir: s.In(), ProjectID: s.ProjectID, RunID: id, SinceSeq: since, Limit: pageLines, EventTypes: []string{events.RunAttached},
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			var event struct {
				Payload runs.Attachment `json:"payload"`
			}
			if json.Unmarshal(e.Event, &event) == nil && event.Payload.ID != "" {
				files = append(files, fileOf(event.Payload))
			}
		}
		if !page.More {
			return files, nil
		}
		since = page.NextSeq
	}
}

// filesOf finds the attachments of a text. Each is an id, or an object with one.
func (s *server) filesOf(ctx context.Context, id string, named []json.RawMessage) ([]attachedFile, error) {
	if len(named) == 0 {
		return nil, nil
	}
	known, err := s.attached(ctx, id)
	if err != nil {
		return nil, err
	}
	var list []attachedFile
	for _, raw := range named {
		var object struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &object.ID) != nil && json.Unmarshal(raw, &object) != nil {
			return nil, bad("attachments must be ids, or objects with one")
		}
		i := slices.IndexFunc(known, func(f attachedFile) bool { return f.ID == object.ID })
		if i < 0 {
			return nil, &refusal{http.StatusBadRequest, errorBody{Error: "unknown attachment", ID: object.ID}}
		}
		file := known[i]
		if file.path, err = dialect.Do(ctx, s.Company, workforce.Operations.AttachmentPath, s.fileOf(id, file)); err != nil {
			return nil, err
		}
		list = append(list, file)
	}
	return list, nil
}

func (s *server) fileOf(id string, file attachedFile) workforce.AttachmentParams {
	return workforce.AttachmentParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: id, Relpath: file.relpath}
}

// fileText returns the text for the agent that lists the paths of files.
func fileText(files []attachedFile) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "\n\nAttached file: %s (%s)", f.path, f.MIMEType)
	}
	return b.String()
}

// fileNames returns the text that people see for files without a text.
func fileNames(files []attachedFile) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func readAttachment(s *server, r *request) (any, error) {
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	known, err := s.attached(r.Context(), row.ID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(known, func(f attachedFile) bool { return f.ID == r.PathValue("aid") })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "unknown attachment")
	}
	content, err := dialect.Do(r.Context(), s.Company, workforce.Operations.ReadAttachment, s.fileOf(row.ID, known[i]))
	if fault.Is(err, fault.NotFound) {
		return nil, refuse(http.StatusNotFound, "unknown attachment")
	}
	kind := "application/octet-stream"
	if slices.Contains(images(), known[i].MIMEType) {
		kind = known[i].MIMEType
	}
	return blob{kind, content, map[string]string{"Content-Disposition": "attachment"}}, err
}
