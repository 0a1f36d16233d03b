package workspaces

// audit:seal, audit:verify and audit:key.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/audit"
	"ac/cmd/ac/cli"
	"ac/company"
	"ac/internal/terminal"
)

func auditSealCommand(a *cli.App) *cobra.Command {
	var p company.SealParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "audit:seal <dir>", Short: "Sign a checkpoint over all logs of a workspace", Args: cli.Args("dir"),
		Long: `Sign a checkpoint over all logs of a workspace. With the public key anybody can later
prove whether one of them was changed, truncated or removed. Keep a copy of a
checkpoint somewhere else: it pins everything before it.

A history that was changed, or that is incomplete, is not sealed further. With
--restart a new history replaces it; its first record says so.

Exit status: 0, or 2 if some logs no longer match what was sealed; these get no new
record, the others are sealed.`,
		Example: "  ac audit:seal ./acme\n  ac audit:seal ./acme --key-file /run/keys/acme.key",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			sealed, err := cli.Ask(cmd.Context(), a, (*company.Company).SealAudit, p)
			if err != nil {
				return err
			}
			return printSealed(a, sealed, asJSON)
		},
	}
	cmd.Flags().StringVar(&p.KeyFile, "key-file", "", "file of the private key, created if missing (default: this user's)")
	cmd.Flags().BoolVar(&p.Restart, "restart", false, "replace a history that cannot be continued by a new one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printSealed(a *cli.App, s audit.SealResult, asJSON bool) error {
	switch {
	case asJSON:
		if err := a.PrintJSON(s); err != nil {
			return err
		}
	case s.Checkpoint == nil:
		fmt.Fprintln(a.Stdout, "Nothing to seal: there are no logs yet.")
	case s.Added == 0:
		fmt.Fprintf(a.Stdout, "No log has grown since %s (%s).\n", s.Checkpoint.SealedAt, s.File)
	default:
		fmt.Fprintf(a.Stdout, "Sealed: %d logs grew; %d records in all. Keep a copy of %s elsewhere.\n", s.Added, s.Checkpoint.Size, s.File)
	}
	return printFindings(a, s.Refused, asJSON)
}

// printFindings prints the findings of a verification for people. Any finding
// means exit status 2.
func printFindings(a *cli.App, findings []audit.Finding, asJSON bool) error {
	if len(findings) == 0 {
		return nil
	}
	for _, f := range findings {
		if !asJSON {
			fmt.Fprintf(a.Stderr, "%s  %s: %s\n", f.Code, terminal.Quote(f.Log+f.File), terminal.Quote(f.Message))
		}
	}
	return cli.ExitError{Code: cli.ExitFindings}
}

func auditVerifyCommand(a *cli.App) *cobra.Command {
	var p company.VerifyAuditParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "audit:verify <dir>", Short: "Verify that no sealed log was changed since", Args: cli.Args("dir"),
		Long: `Verify the logs of a workspace against what was sealed, with the public key alone.
Pass a key and a checkpoint that were kept elsewhere: an attacker could have replaced
those in the workspace together with the logs.

Exit status: 0 if everything that was sealed is unchanged, 2 with the findings, the
oldest first, 1 if something could not be read.`,
		Example: `  ac audit:verify ./acme
  ac audit:verify ./acme --key ac-audit+1f2e3d4c+AbCd... --checkpoint ~/kept/000000000042.txt`,
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			report, err := cli.Ask(cmd.Context(), a, (*company.Company).VerifyAudit, p)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.PrintJSON(report)
			} else {
				printAudit(a, report, p.Key == "")
			}
			if err != nil {
				return err
			}
			return printFindings(a, report.Findings, asJSON)
		},
	}
	cmd.Flags().StringVar(&p.Key, "key", "", "the public key, or a file with it (default: the keys in the workspace)")
	cmd.Flags().StringArrayVar(&p.Kept, "checkpoint", nil, "file of a checkpoint that was kept elsewhere; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: every log with its sealed length")
	return cmd
}

func printAudit(a *cli.App, r audit.Report, ownKey bool) {
	var sealed, open, logs int64
	for _, log := range r.Logs {
		sealed += log.SealedBytes
		open += max(0, log.Bytes-log.SealedBytes)
		if log.SealedBytes > 0 {
			logs++
		}
	}
	verdict := "OK"
	if !r.OK {
		verdict = "NOT AS SEALED"
	}
	newest := "no checkpoint"
	if r.Newest != nil {
		newest = fmt.Sprintf("%d checkpoints, the newest of %s", r.Checkpoints, r.Newest.SealedAt)
	}
	fmt.Fprintf(a.Stdout, "%s: %d of %d logs sealed (%d bytes; %d bytes since); %s\n", verdict, logs, len(r.Logs), sealed, open, newest)
	for _, r := range r.Restarts {
		fmt.Fprintf(a.Stdout, "RESTARTED at %s: nothing is proved of what was sealed before (%s)\n", terminal.Quote(r.At), terminal.Quote(r.Reason))
	}
	if ownKey {
		fmt.Fprintln(a.Stderr, "The key came from the workspace itself. Give --key, and a --checkpoint that was kept elsewhere, to be sure.")
	}
}

func auditKeyCommand(a *cli.App) *cobra.Command {
	keyFile := ""
	cmd := &cobra.Command{
		Use: "audit:key", Short: "Print the public key that belongs to this user's seals", Args: cli.Args(),
		Long:    "Print the public key, which verifiers need. The private key is created if there is none; it stays in this user's configuration directory, mode 0600.",
		Example: "  ac audit:key > acme.pub\n  ac audit:verify ./acme --key acme.pub",
		RunE: func(*cobra.Command, []string) error {
			return a.Across(func(all *company.Host) error { return a.PrintID(all.AuditKey(keyFile)) })
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "file of the private key (default: this user's)")
	return cmd
}
