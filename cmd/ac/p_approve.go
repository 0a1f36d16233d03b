package main

// ac approve, ac deny: decisions, each on what was shown.

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/governance"
	"ac/governance/needs"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/interaction"
)

// decision is what approve and deny are asked to do.
type decision struct {
	approve bool
	note    string
	yes     bool // do not ask
	session bool // permissions hold for the session
}

func approveCommand(a *app) *cobra.Command {
	d := decision{approve: true}
	cmd := &cobra.Command{
		Use: "approve <id...>", Short: "Approve items of the inbox, and allow what agents ask for", Args: atLeastOne("id"),
		Long: `Approve memory changes, milestones, actions and files, or allow what an agent asks for.
On a terminal each is shown first, with its diff, and you are asked; what changed since it
was shown is shown again. Without a terminal the command is the decision.`,
		Example: "  ac approve B8N4WE\n  ac approve B8N4WE M0C2P7 -y -m 'Seen in the meeting'",
	}
	a.short(cmd, func(c *call, given []string) error { return c.decideAll(d, given) })
	d.flags(cmd)
	cmd.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not show and do not ask")
	return cmd
}

func denyCommand(a *app) *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use: "deny <id...>", Short: "Deny items of the inbox, and what agents ask for", Args: atLeastOne("id"),
		Long: `Deny memory changes, milestones, actions and files, or what an agent asks for. The
note is recorded; an agent reads it.`,
		Example: "  ac deny B8N4WE -m 'We cut releases on Mondays'",
	}
	a.short(cmd, func(c *call, given []string) error { return c.decideAll(d, given) })
	d.flags(cmd)
	return cmd
}

func (d *decision) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&d.note, "note", "m", "", "a note on the decision")
	cmd.Flags().BoolVar(&d.session, "session", false, "of permissions: for the whole session")
}

// atLeastOne requires an argument.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		if len(given) == 0 {
			return usageError{"missing argument <" + name + ">"}
		}
		return nil
	}
}

// decideAll decides on each item for itself.
func (c *call) decideAll(d decision, given []string) error {
	done := []doneRow{}
	for _, word := range given {
		n, err := c.need(word)
		if err != nil {
			done = append(done, failedRow(word, "item", err))
			continue
		}
		row, decided := c.decide(d, n)
		if decided {
			done = append(done, row)
		}
	}
	return c.printDone(done)
}

// decide decides on one item, after somebody said yes where that can be asked. decided is
// false for an item that was left as it is.
func (c *call) decide(d decision, n needs.Need) (row doneRow, decided bool) {
	if why := undecidable(n); why != "" {
		return failedRow(n.Ref(), n.Kind, fault.New(fault.Unsupported, "%s", why)), true
	}
	asks := d.approve && !d.yes && !c.asJSON && c.asks()
	for {
		proof, err := c.proof(n)
		if err != nil {
			return failedRow(n.Ref(), n.Kind, err), true
		}
		sure := d
		if asks {
			if err := c.showNeed(proof); err != nil {
				return failedRow(n.Ref(), n.Kind, err), true
			}
			switch c.asked("Approve? [y]es, [n]o, [d]eny, [s]kip: ") {
			case "y", "yes":
			case "d", "deny":
				sure.approve = false
			default:
				return row, false
			}
		}
		row, err = c.carryOut(sure, proof)
		switch {
		case fault.Is(err, fault.PreviewChanged) && asks:
			c.note("It changed meanwhile. This is what it is now:")
			continue
		case err != nil:
			return failedRow(n.Ref(), n.Kind, err), true
		}
		return row, true
	}
}

// undecidable is why a need is not for approve and deny.
func undecidable(n needs.Need) string {
	short := shortID(n.Ref())
	switch n.Kind {
	case needs.Question, needs.Input, needs.Help:
		return fmt.Sprintf("%s is a %s; answer it with: ac answer %s TEXT", short, n.Kind, short)
	case needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog:
		return fmt.Sprintf("%s is nothing to decide on: %s", shortID(n.RunID), n.Title)
	}
	return ""
}

// asked asks a question and returns the answer in small letters, "" for none. It reads one
// line and no more, so that answers typed ahead wait for their questions.
func (c *call) asked(question string) string {
	fmt.Fprint(c.stderr, question)
	return strings.ToLower(strings.TrimSpace(c.readLine()))
}

// readLine reads a line of stdin, byte by byte. At the end it is what there was.
func (c *call) readLine() string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := c.stdin.Read(one)
		if n == 0 || one[0] == '\n' {
			if err != nil || n > 0 {
				return string(line)
			}
			continue
		}
		if line = append(line, one[0]); err != nil {
			return string(line)
		}
	}
}

// carryOut makes the decision on what was shown.
func (c *call) carryOut(d decision, seen decisions.NeedResult) (doneRow, error) {
	row := doneRow{ID: seen.Ref(), Kind: seen.Kind, OK: true}
	word := "denied"
	if d.approve {
		word = "approved"
	}
	if seen.Group == needs.GroupAsks {
		p := orchestration.RespondParams{InteractionID: seen.Ref(), Decision: interaction.Deny}
		p.Act(c.dir, seen.ProjectID, seen.RunID, c.actor, c.role, c.team)
		if d.approve {
			p.Decision, p.Note, word = interaction.Allow, d.note, "allowed"
		} else if d.note != "" {
			p.Text = &d.note
		}
		if d.session {
			p.Scope = interaction.Session
		}
		result, err := company.Do(c.ctx, c.all, orchestration.Operations.Respond, p)
		row.Result = result
		row.text = fmt.Sprintf("%s %s  %s", word, shortID(seen.Ref()), seen.Title)
		return row, err
	}
	p := decisions.ResolveParams{Dir: c.dirParam(), ProjectID: seen.ProjectID, ArtifactID: seen.Ref(), Decision: governance.Denied}
	p.ActorID, p.ActorRole, p.ActorTeamID, p.Notes = c.actor, c.role, c.team, d.note
	if d.approve {
		p.Decision = governance.Approved
		if seen.Proof.Delta != nil {
			p.ExpectHash = seen.Proof.Delta.Hash
		}
	}
	result, err := company.Do(c.ctx, c.all, decisions.Operations.Resolve, p)
	row.Result = result
	row.text = fmt.Sprintf("%s %s  %s (by %s", word, shortID(seen.Ref()), c.what(seen), c.actor)
	if rule, known := c.rule(seen); known {
		row.text += ", rule " + rule.RuleID
	}
	row.text += ")"
	return row, err
}

// what names an item: its kind, and its project or title.
func (c *call) what(seen decisions.NeedResult) string {
	if seen.Kind == needs.Memory {
		return "memory of " + cmp.Or(c.projectNamed(seen.ProjectID), seen.ProjectID)
	}
	return seen.Kind + " " + seen.Title
}

// rule is what the policy says of a decision of this actor on an item. known is false for
// items whose rules depend on more than the item shows.
func (c *call) rule(seen decisions.NeedResult) (rule policy.Decision, known bool) {
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
	return policy.Decide(policy.Approve, resource, policy.Actor{ID: c.actor, Role: c.role, Team: c.team}), true
}
