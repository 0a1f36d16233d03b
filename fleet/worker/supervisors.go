package worker

// The implementation of Host on a real machine.

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
	// Executable is the program with the hidden commands.
	Executable string
}

// Launch implements Starter. The supervisor outlives this process.
func (s Supervisors) Launch(ctx context.Context, order session.Order) error {
	launcher := session.Launcher{Executable: s.Executable, Environ: order.Environ}
	return launcher.Launch(ctx, order)
}

// probeWithin is the timeout of probing the agents.
const probeWithin = 10 * time.Second

// ProbeAgents returns a function that detects the machine's agents and whether they work.
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

// JudgeProgram judges an agent's program with the subscription guard, and determines its version
// and abilities.
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
	if !found.OK || provider.DriverOf(ask.Provider) == "" { // --version may have any effect on an arbitrary command
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
