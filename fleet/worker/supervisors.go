package worker

// The implementation of a worker's Host on a real machine.

import (
	"context"
	"time"

	"ac/fleet"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Supervisors starts a supervisor process for each session.
type Supervisors struct {
	// Executable is the program that has the hidden commands.
	Executable string
}

// Launch implements Starter. The supervisor outlives this process.
func (s Supervisors) Launch(ctx context.Context, order session.Order) error {
	launcher := session.Launcher{Executable: s.Executable, Environ: order.Environ}
	return launcher.Launch(ctx, order)
}

// probeWithin bounds how long finding out about the agents may take.
const probeWithin = 10 * time.Second

// ProbeAgents finds out which agents the machine has and whether they work.
func ProbeAgents(environ []string) func(ctx context.Context, machine doc.Machine) map[string]fleet.ProviderProbe {
	return func(ctx context.Context, machine doc.Machine) map[string]fleet.ProviderProbe {
		found := map[string]fleet.ProviderProbe{}
		for _, a := range provider.StatusWithin(ctx, machine, provider.Cache{Environ: environ}, probeWithin) {
			verdict := fleet.ProviderProbe{
				Bin: machine.ProviderBins[a.Provider], Version: a.Version, OK: a.Available && (a.Probe == nil || a.Probe.OK), Why: a.Reason,
			}
			if !verdict.OK && a.Probe != nil {
				verdict.Why = a.Probe.Detail
			}
			if before, known := found[a.Provider]; !known || (!before.OK && verdict.OK) {
				found[a.Provider] = verdict
			}
		}
		return found
	}
}

// JudgeProgram lets the subscription guard judge the program of an agent, and determines its
// version and abilities.
func JudgeProgram(ctx context.Context, spool *workspace.Workspace, machine doc.Machine, ask fleet.Probe, environ []string) fleet.ProviderProbe {
	p := ask.Policy
	machine.ExecutionPolicy = map[string]doc.ExecutionPolicy{p.ProviderKey: {
		Channel: p.Channel, RequireSubscriptionProof: p.RequireSubscriptionProof, ProofStrategy: p.ProofStrategy, AllowedBinPatterns: p.AllowedBinPatterns,
	}}
	v := provider.Guard(ctx, machine, ask.Provider, ask.Words, environ)
	found := fleet.ProviderProbe{
		Bin: v.Bin, OK: v.Reason == "", Why: v.Message,
		Verdict: &fleet.Verdict{Policy: v.Policy, Bin: v.Bin, Proof: v.Proof, Reason: v.Reason, Message: v.Message},
	}
	if !found.OK || provider.DriverOf(ask.Provider) == "" { // nobody knows what a command makes of --version
		return found
	}
	known := provider.Cache{Workspace: spool, Environ: environ}
	about := known.About(ctx, ask.Provider, v.Bin)
	found.About = &about
	if about.Version != nil {
		found.Version = *about.Version
	}
	if cli, err := provider.CLIOf(ask.Provider); err == nil {
		able := known.Abilities(ctx, cli, v.Bin)
		found.Abilities = &able
	}
	return found
}
