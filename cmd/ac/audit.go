package main

// audit:seal, audit:verify and audit:key.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/audit"
	"ac/company"
	"ac/internal/terminal"
)

func auditSealCommand(a *app) *cobra.Command {
	var p company.SealParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "audit:seal <dir>", Short: "Sign a checkpoint over all logs of a workspace", Args: args("dir"),
		Long: `Sign a checkpoint over all logs of a workspace, so that anybody with the public
key can prove later whether one of them was changed, shortened or removed. Keep a
copy of a checkpoint somewhere else: it pins everything before it.

A history that was changed, or of which parts are gone, is not sealed further. With
--restart a new one is begun over it; its first record says so.

Exit status: 0, or 2 when logs are no longer what was sealed of them; those get no
new record, the others are sealed.`,
		Example: "  ac audit:seal ./acme\n  ac audit:seal ./acme --key-file /run/keys/acme.key",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			sealed, err := ask(cmd.Context(), a, (*company.Company).SealAudit, p)
			if err != nil {
				return err
			}
			return a.printSealed(sealed, asJSON)
		},
	}
	cmd.Flags().StringVar(&p.KeyFile, "key-file", "", "the private key, made when it is not there (default: this user's)")
	cmd.Flags().BoolVar(&p.Restart, "restart", false, "begin a new history over one that cannot be gone on with")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printSealed(s audit.SealResult, asJSON bool) error {
	switch {
	case asJSON:
		if err := a.printJSON(s); err != nil {
			return err
		}
	case s.Checkpoint == nil:
		fmt.Fprintln(a.stdout, "Nothing to seal: there are no logs yet.")
	case s.Added == 0:
		fmt.Fprintf(a.stdout, "Nothing has grown since %s (%s).\n", s.Checkpoint.SealedAt, s.File)
	default:
		fmt.Fprintf(a.stdout, "Sealed: %d logs grew; %d records in all. Keep a copy of %s elsewhere.\n", s.Added, s.Checkpoint.Size, s.File)
	}
	return a.printFindings(s.Refused, asJSON)
}

// printFindings tells people what is not as it was sealed. Any finding is exit
// status 2.
func (a *app) printFindings(findings []audit.Finding, asJSON bool) error {
	if len(findings) == 0 {
		return nil
	}
	for _, f := range findings {
		if !asJSON {
			fmt.Fprintf(a.stderr, "%s  %s: %s\n", f.Code, terminal.Quote(f.Log+f.File), terminal.Quote(f.Message))
		}
	}
	return exitError{exitFindings}
}

func auditVerifyCommand(a *app) *cobra.Command {
	var p company.VerifyAuditParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "audit:verify <dir>", Short: "Prove that no sealed log was changed since", Args: args("dir"),
		Long: `Hold the logs of a workspace against what was sealed of them, with the public key
alone. Give the key and a checkpoint that were kept elsewhere: what lies in the
workspace could have been made anew together with the logs.

Exit status: 0 when everything sealed is as it was, 2 with what is not, the oldest
first, 1 when something could not be read.`,
		Example: `  ac audit:verify ./acme
  ac audit:verify ./acme --key ac-audit+1f2e3d4c+AbCd... --checkpoint ~/kept/000000000042.txt`,
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			report, err := ask(cmd.Context(), a, (*company.Company).VerifyAudit, p)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(report)
			} else {
				a.printAudit(report, p.Key == "")
			}
			if err != nil {
				return err
			}
			return a.printFindings(report.Findings, asJSON)
		},
	}
	cmd.Flags().StringVar(&p.Key, "key", "", "the public key, or a file with it (default: the keys in the workspace)")
	cmd.Flags().StringArrayVar(&p.Kept, "checkpoint", nil, "a checkpoint that was kept elsewhere; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: every log with what is sealed of it")
	return cmd
}

func (a *app) printAudit(r audit.Report, ownKey bool) {
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
	fmt.Fprintf(a.stdout, "%s: %d of %d logs sealed (%d bytes; %d bytes since); %s\n", verdict, logs, len(r.Logs), sealed, open, newest)
	for _, r := range r.Restarts {
		fmt.Fprintf(a.stdout, "RESTARTED at %s: nothing is proved of what was sealed before (%s)\n", terminal.Quote(r.At), terminal.Quote(r.Reason))
	}
	if ownKey {
		fmt.Fprintln(a.stderr, "The key came from the workspace itself. Give --key, and a --checkpoint that was kept elsewhere, to be sure.")
	}
}

func auditKeyCommand(a *app) *cobra.Command {
	keyFile := ""
	cmd := &cobra.Command{
		Use: "audit:key", Short: "Print the public key that belongs to this user's seals", Args: args(),
		Long:    "Print the public key, for those who verify. The private key, which is made when there is none, stays where it is: mode 0600, in this user's configuration directory.",
		Example: "  ac audit:key > acme.pub\n  ac audit:verify ./acme --key acme.pub",
		RunE: func(*cobra.Command, []string) error {
			return a.across(func(all *company.Host) error { return a.printID(all.AuditKey(keyFile)) })
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "the private key (default: this user's)")
	return cmd
}
