package oversight

// ac approve, ac deny: decisions, each on exactly what was shown.

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/governance"
	"ac/governance/needs"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/interaction"
)

// Decision holds the options of approve and deny.
type Decision struct {
	Approve bool
	Note    string
	yes     bool // do not ask
	session bool // a permission applies to the whole session
}

func approveCommand(a *cli.App) *cobra.Command {
	d := Decision{Approve: true}
	cmd := &cobra.Command{
		Use: "approve <id...>", Short: "Approve items of the inbox, and allow what agents ask for", Args: atLeastOne("id"),
		Long: `Approve memory changes, milestones, actions and files, or allow what an agent asks for.
On a terminal each is shown first, with its diff, and you are asked; what changed since it
was shown is shown again. Without a terminal the command is the decision.`,
		Example: "  ac approve B8N4WE\n  ac approve B8N4WE M0C2P7 -y -m 'Seen in the meeting'",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error { return decideAll(c, d, given) })
	d.flags(cmd)
	cmd.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not show and do not ask")
	return cmd
}

func denyCommand(a *cli.App) *cobra.Command {
	var d Decision
	cmd := &cobra.Command{
		Use: "deny <id...>", Short: "Deny items of the inbox, and what agents ask for", Args: atLeastOne("id"),
		Long: `Deny memory changes, milestones, actions and files, or what an agent asks for. The
note is recorded; an agent reads it.`,
		Example: "  ac deny B8N4WE -m 'We cut releases on Mondays'",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error { return decideAll(c, d, given) })
	d.flags(cmd)
	return cmd
}

func (d *Decision) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&d.Note, "note", "m", "", "a note on the decision")
	cmd.Flags().BoolVar(&d.session, "session", false, "of permissions: for the whole session")
}

// atLeastOne requires an argument.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) == 0 {
			return cli.UsageError{Message: "missing argument <" + name + ">"}
		}
		return nil
	}
}

// decideAll decides on each item separately.
func decideAll(c *cli.Call, d Decision, given []string) error {
	done := []cli.DoneRow{}
	for _, word := range given {
		n, err := Need(c, word)
		if err != nil {
			done = append(done, cli.FailedRow(word, "item", err))
			continue
		}
		row, decided := decide(c, d, n)
		if decided {
			done = append(done, row)
		}
	}
	return c.PrintDone(done)
}

// decide decides on one item. If somebody can be asked, it asks for confirmation first. decided is
// false for an item that was left undecided.
func decide(c *cli.Call, d Decision, n needs.Need) (row cli.DoneRow, decided bool) {
	if why := Undecidable(n); why != "" {
		return cli.FailedRow(n.Ref(), n.Kind, fault.New(fault.Unsupported, "%s", why)), true
	}
	asks := d.Approve && !d.yes && !c.AsJSON && c.CanAsk()
	for {
		proof, err := Proof(c, n)
		if err != nil {
			return cli.FailedRow(n.Ref(), n.Kind, err), true
		}
		sure := d
		if asks {
			if err := ShowNeed(c, proof); err != nil {
				return cli.FailedRow(n.Ref(), n.Kind, err), true
			}
			switch c.AskLine("Approve? [y]es, [n]o, [d]eny, [s]kip: ") {
			case "y", "yes":
			case "d", "deny":
				sure.Approve = false
			default:
				return row, false
			}
		}
		row, err = CarryOut(c, sure, proof)
		switch {
		case fault.Is(err, fault.PreviewChanged) && asks:
			c.Note("It changed meanwhile. This is what it is now:")
			continue
		case err != nil:
			return cli.FailedRow(n.Ref(), n.Kind, err), true
		}
		return row, true
	}
}

// Undecidable returns why approve and deny do not apply to a need, "" if they do.
func Undecidable(n needs.Need) string {
	short := cli.ShortID(n.Ref())
	switch n.Kind {
	case needs.Question, needs.Input, needs.Help:
		return fmt.Sprintf("%s is a %s; answer it with: ac answer %s TEXT", short, n.Kind, short)
	case needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog:
		return fmt.Sprintf("%s is nothing to decide on: %s", cli.ShortID(n.RunID), n.Title)
	}
	return ""
}

// CarryOut makes the decision. A memory change that differs from what was shown fails.
func CarryOut(c *cli.Call, d Decision, seen decisions.NeedResult) (cli.DoneRow, error) {
	row := cli.DoneRow{ID: seen.Ref(), Kind: seen.Kind, OK: true}
	word := "denied"
	if d.Approve {
		word = "approved"
	}
	if seen.Group == needs.GroupAsks {
		p := orchestration.RespondParams{InteractionID: seen.Ref(), Decision: interaction.Deny}
		p.Act(c.Dir, seen.ProjectID, seen.RunID, c.Actor, c.Role, c.Team)
		if d.Approve {
			p.Decision, p.Note, word = interaction.Allow, d.Note, "allowed"
		} else if d.Note != "" {
			p.Text = &d.Note
		}
		if d.session {
			p.Scope = interaction.Session
		}
		result, err := company.Do(c.Ctx, c.All, orchestration.Operations.Respond, p)
		row.Result = result
		row.Text = fmt.Sprintf("%s %s  %s", word, cli.ShortID(seen.Ref()), seen.Title)
		return row, err
	}
	p := decisions.ResolveParams{Dir: c.DirParam(), ProjectID: seen.ProjectID, ArtifactID: seen.Ref(), Decision: governance.Denied}
	p.ActorID, p.ActorRole, p.ActorTeamID, p.Notes = c.Actor, c.Role, c.Team, d.Note
	if d.Approve {
		p.Decision = governance.Approved
		if seen.Proof.Delta != nil {
			p.ExpectHash = seen.Proof.Delta.Hash
		}
	}
	result, err := company.Do(c.Ctx, c.All, decisions.Operations.Resolve, p)
	row.Result = result
	row.Text = fmt.Sprintf("%s %s  %s (by %s", word, cli.ShortID(seen.Ref()), what(c, seen), c.Actor)
	if rule, known := rule(c, seen); known {
		row.Text += ", rule " + rule.RuleID
	}
	row.Text += ")"
	return row, err
}

// what describes an item: its kind, and its project or title.
func what(c *cli.Call, seen decisions.NeedResult) string {
	if seen.Kind == needs.Memory {
		return "memory of " + cmp.Or(c.ProjectNamed(seen.ProjectID), seen.ProjectID)
	}
	return seen.Kind + " " + seen.Title
}

// rule returns the policy's decision on an approval of an item by this actor. known is false for
// items whose rules depend on more than the item shows.
func rule(c *cli.Call, seen decisions.NeedResult) (rule policy.Decision, known bool) {
	resource := policy.Resource{ID: seen.Ref()}
	switch {
	case seen.Proof.Delta != nil:
		resource.Visibility = seen.Proof.Delta.Visibility
		if seen.Proof.Delta.ScopeKind != "" {
			resource.Approvers = policy.DirectorsApprove
		}
	case seen.Kind == needs.Milestone && seen.Proof.Artifact != nil:
		resource.Visibility = seen.Proof.Artifact.Frontmatter.Get("visibility").Text
	default:
		return rule, false
	}
	return policy.Decide(policy.Approve, resource, policy.Actor{ID: c.Actor, Role: c.Role, Team: c.Team}), true
}
