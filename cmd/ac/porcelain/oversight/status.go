package oversight

// ac status: one screen with live runs, needs, today's usage, and health.

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/maintenance"
	"ac/doctor"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// statusReport is the content of the screen and its JSON form.
type statusReport struct {
	Company      string           `json:"company"`
	WorkspaceDir string           `json:"workspace_dir"`
	Project      *statusProject   `json:"project"`
	Running      []company.RunRow `json:"running"`
	NeedsYou     []inboxRow       `json:"needs_you"`
	Today        statusToday      `json:"today"`
	Health       statusHealth     `json:"health"`

	needs int // number of all needs
	beats bool
}

type statusProject struct {
	ProjectID string `json:"project_id"`
	Name      string `json:"name"`
}

// statusToday counts the runs created today and their usage.
type statusToday struct {
	Runs     int      `json:"runs"`
	Done     int      `json:"done"`
	Failed   int      `json:"failed"`
	Running  int      `json:"running"`
	Tokens   int64    `json:"tokens"`
	CostUSD  *float64 `json:"cost_usd"`
	Unpriced int      `json:"unpriced"`
}

type statusHealth struct {
	Status   string          `json:"status"`
	Findings []statusFinding `json:"findings"`
	SealedAt *string         `json:"sealed_at"` // null if nothing was sealed
}

type statusFinding struct {
	Check   string `json:"check"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

func statusCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Show what runs, what needs you, and what today cost", Args: cli.Args(),
		Long: `Show one screen: the runs that live, what waits for your word, the runs and the cost of
today, and whether anything is wrong with the workspace (ac doctor looks at everything).`,
		Example: "  ac status\n  ac status --json",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		report, err := status(c)
		if err != nil {
			return err
		}
		if c.AsJSON {
			return c.PrintJSON(report)
		}
		_, err = fmt.Fprint(c.Stdout, statusText(c, &report, c.Width(), terminal.Unicode(os.Getenv)))
		return err
	})
	return cmd
}

func status(c *cli.Call) (r statusReport, err error) {
	r = statusReport{Company: c.Company, WorkspaceDir: c.Dir}
	if c.Project != "" {
		r.Project = &statusProject{c.Project, c.ProjectName}
	}
	now, err := company.Do(c.Ctx, c.All, (*company.Company).Status, company.StatusParams{Dir: c.DirParam(), ProjectID: c.Project})
	if err != nil {
		return r, err
	}
	r.Running, r.needs = now.Live.Rows, len(now.Needs)
	if r.NeedsYou, err = inboxRows(c, now.Needs); err != nil {
		return r, err
	}
	today := &now.Today
	r.Today = statusToday{
		Runs: today.Runs, Done: today.ByStatus[doc.StatusEnded], Failed: today.ByStatus[doc.StatusFailed], Running: len(r.Running),
		Tokens: today.Used.Total, CostUSD: today.Used.CostUSD, Unpriced: today.Used.UnpricedRecords,
	}
	health, err := company.Do(c.Ctx, c.All, maintenance.Folder.Glance, c.DirParam())
	r.Health, r.beats = statusHealth{Status: health.Status, Findings: []statusFinding{}}, health.Beats
	for _, f := range health.Findings {
		r.Health.Findings = append(r.Health.Findings, statusFinding{f.ID, f.Status, f.Message})
	}
	if now.Lost > 0 {
		r.Health.found(statusFinding{"sessions", doctor.Warn, withVerb(terminal.FormatCount(now.Lost, "run"), now.Lost) + " without a supervisor"})
	}
	if !health.SealedAt.IsZero() {
		r.Health.SealedAt = new(clock.Stamp(health.SealedAt))
	}
	return r, err
}

// found adds a finding that is not a failure.
func (h *statusHealth) found(f statusFinding) {
	if h.Findings = append(h.Findings, f); h.Status == statusOK {
		h.Status = f.Status
	}
}

// statusOK is the health of a workspace without findings.
const statusOK = "ok"

// statusText formats the screen. A wide terminal gets more rows.
func statusText(c *cli.Call, r *statusReport, width int, unicode bool) string {
	most := 5
	if width >= 120 {
		most = 10
	}
	var b strings.Builder
	title := r.Company
	if r.Project != nil {
		title += " / " + r.Project.Name
	}
	left := terminal.Printable(title + "   " + r.WorkspaceDir)
	b.WriteString(spread(left, "as "+c.Actor, width) + "\n\n")
	fmt.Fprintf(&b, "RUNNING %d\n", len(r.Running))
	runs := c.RunTable(company.RunRows{Rows: r.Running[:min(len(r.Running), most)], IDs: runIDs(r.Running)}, unicode)
	indent(&b, runs, width, c.Colours())
	b.WriteString("\n" + spread(fmt.Sprintf("NEEDS YOU %d", r.needs), "ac inbox", width) + "\n")
	indent(&b, inboxTable(c, r.NeedsYou[:min(len(r.NeedsYou), most)]), width, c.Colours())
	t := &r.Today
	line := fmt.Sprintf("\nTODAY    %s: %d done, %d failed, %d running   %s tokens   %s", terminal.FormatCount(t.Runs, "run"), t.Done, t.Failed, t.Running, terminal.FormatTokens(t.Tokens), terminal.FormatCost(t.CostUSD))
	if t.Unpriced > 0 {
		line += fmt.Sprintf(" (%d unpriced)", t.Unpriced)
	}
	b.WriteString(line + "\n")
	b.WriteString(healthLine(c, r, width) + "\n")
	return b.String()
}

// healthLine returns the worst finding, whether the heartbeat is on, and the time of the last seal.
// If the line is too long, it truncates the finding, but not the command for more details.
func healthLine(c *cli.Call, r *statusReport, width int) string {
	rest := "   heartbeat off"
	if r.beats {
		rest = "   heartbeat on"
	}
	if at, ok := clock.Parse(cli.OrEmpty(r.Health.SealedAt)); ok {
		rest += "   last seal " + ago(terminal.FormatAge(at, c.Now))
	}
	health := "HEALTH   " + r.Health.Status
	if at := slices.IndexFunc(r.Health.Findings, func(f statusFinding) bool { return f.Status == r.Health.Status }); at >= 0 {
		f := r.Health.Findings[at]
		rest = " (ac doctor)" + rest
		health = strings.TrimRight(terminal.Fit(health+": "+f.Check+": "+f.Message, max(width-len(rest), leastFinding)), " ")
	}
	return strings.TrimRight(terminal.Fit(health+rest, width), " ")
}

// leastFinding is the minimum width of the finding.
const leastFinding = 30

func runIDs(rows []company.RunRow) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	return ids
}

// spread returns a line with text at both ends. If both do not fit, it drops the right one.
func spread(left, right string, width int) string {
	blanks := width - terminal.Columns(left) - terminal.Columns(right)
	if blanks < cli.GapToRight {
		return strings.TrimRight(terminal.Fit(left, min(width, terminal.Columns(left))), " ")
	}
	return left + strings.Repeat(" ", blanks) + right
}

// indent adds the rows of a table, indented and without titles.
func indent(b *strings.Builder, t terminal.Table, width int, colours bool) {
	if len(t.Rows) == 0 {
		return
	}
	for i := range t.Columns {
		t.Columns[i].Title = ""
	}
	for _, line := range t.Lines(width-cli.GapToRight, colours)[1:] {
		b.WriteString(strings.Repeat(" ", cli.GapToRight) + line + "\n")
	}
}
