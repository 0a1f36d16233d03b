package records

// inbox:show: a pending item, for people.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/internal/terminal"
)

// shownItem is the JSON output of inbox:show. Only memory deltas have a
// preview.
type shownItem struct {
	Artifact decisions.ReadArtifactResult `json:"artifact"`
	Preview  *decisions.DeltaPreview      `json:"preview,omitempty"`
}

func inboxShowCommand(a *cli.App) *cobra.Command {
	var p decisions.ReadArtifactParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "inbox:show <dir>", Short: "Show an item that waits for a decision, with what it would change", Args: cli.Args("dir"),
		Long: `Show an artifact of the inbox; for a memory delta, also what approving it would change
now, as a diff (in colour on a terminal, unless NO_COLOR is set). The policy decides
whether the actor may see it. Its decision is recorded as for artifact:read.`,
		Example: "  ac inbox:show ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project", "artifact", "actor"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return a.Across(func(all *company.Host) error {
				shown, err := show(cmd.Context(), all, p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.PrintJSON(shown)
				}
				return newPage(a).item(shown).flush()
			})
		},
	}
	readFlags(cmd, &p)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func show(ctx context.Context, all *company.Host, p decisions.ReadArtifactParams) (shown shownItem, err error) {
	if shown.Artifact, err = company.Do(ctx, all, decisions.Operations.ReadArtifact, p); err != nil {
		return shown, err
	}
	if shown.Artifact.Frontmatter.Get("type").Text != "memory_delta" {
		return shown, nil
	}
	seen, err := company.Do(ctx, all, decisions.Operations.PreviewDelta, decisions.ItemParams{Dir: company.Dir{WorkspaceDir: p.WorkspaceDir}, ProjectID: p.ProjectID, ArtifactID: p.ArtifactID})
	shown.Preview = &seen
	return shown, err
}

// page buffers the output. It escapes control characters from documents, against terminal escape
// injection.
type page struct {
	text   strings.Builder
	out    io.Writer
	colour bool
}

func newPage(a *cli.App) *page {
	file, isFile := a.Stdout.(cli.Descriptor)
	return &page{out: a.Stdout, colour: isFile && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))}
}

func (p *page) flush() error {
	_, err := io.WriteString(p.out, p.text.String())
	return err
}

// Styles of a terminal.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	cyan  = "\x1b[36m"
	plain = "\x1b[0m"
)

func (p *page) line(style, text string) {
	text = visible(text)
	if p.colour && style != "" {
		text = style + text + plain
	}
	p.text.WriteString(text + "\n")
}

// field prints a name and its value, unless the value is empty.
func (p *page) field(name, value string) {
	if value != "" {
		p.line("", fmt.Sprintf("%-11s %s", name, value))
	}
}

func (p *page) item(shown shownItem) *page {
	if shown.Preview != nil {
		p.preview(*shown.Preview)
	} else {
		head := &shown.Artifact.Frontmatter
		p.line(bold, head.Get("title").Text)
		p.field("artifact", shown.Artifact.ArtifactID)
		for _, key := range []string{"type", "produced_by", "created_at", "visibility", "task_id", "milestone_id"} {
			p.field(strings.TrimSuffix(key, "_id"), head.Get(key).Text)
		}
		p.line("", "")
	}
	if _, body, ok := strings.Cut(shown.Artifact.Markdown, "\n---"); ok && shown.Preview == nil {
		_, body, _ = strings.Cut(body, "\n")
		for _, l := range strings.Split(strings.Trim(body, "\r\n"), "\n") {
			p.line("", strings.TrimSuffix(l, "\r"))
		}
	}
	return p
}

func (p *page) preview(seen decisions.DeltaPreview) *page {
	p.line(bold, seen.Title)
	p.field("artifact", seen.ArtifactID)
	p.field("type", "memory_delta")
	p.field("produced_by", seen.ProducedBy)
	p.field("created_at", seen.CreatedAt)
	p.field("visibility", seen.Visibility)
	p.field("target", seen.TargetFile)
	p.field("decision", strings.TrimSpace(seen.Decision+" "+seen.ReviewID))
	p.field("state", seen.State)
	p.field("reason", seen.Reason)
	p.field("hash", seen.Hash)
	p.line("", "")
	for i, l := range strings.Split(strings.TrimSuffix(seen.Diff, "\n"), "\n") {
		p.line(diffStyle(i, l), strings.TrimSuffix(l, "\r"))
	}
	return p
}

// diffStyle returns the style of line i of a diff. The first two lines name the file.
func diffStyle(i int, l string) string {
	switch {
	case i < 2:
		return bold
	case strings.HasPrefix(l, "@@"):
		return cyan
	case strings.HasPrefix(l, "+"):
		return green
	case strings.HasPrefix(l, "-"):
		return red
	}
	return ""
}

// visible is terminal.Quote, but keeps tabs.
func visible(text string) string {
	lines := strings.Split(text, "\t")
	for i := range lines {
		lines[i] = terminal.Quote(lines[i])
	}
	return strings.Join(lines, "\t")
}
