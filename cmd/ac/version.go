package main

// version: information about this build.

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/web"
)

// buildFacts describes a build. Unknown values are null.
type buildFacts struct {
	Version    string        `json:"version"`
	Commit     *string       `json:"commit"`
	Dirty      *bool         `json:"dirty"` // built with uncommitted changes
	CommitTime *string       `json:"commit_time"`
	Go         string        `json:"go"`
	OS         string        `json:"os"`
	Arch       string        `json:"arch"`
	Modules    []buildModule `json:"modules"`
}

type buildModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"`
}

func factsOf(build *debug.BuildInfo) buildFacts {
	facts := buildFacts{Version: buildVersion(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Modules: []buildModule{}}
	if commit != "" {
		facts.Commit, facts.CommitTime, facts.Dirty = new(commit), new(commitTime), new(dirty == "true")
	}
	if build == nil {
		return facts
	}
	if build.GoVersion != "" {
		facts.Go = build.GoVersion
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "GOOS":
			facts.OS = setting.Value
		case "GOARCH":
			facts.Arch = setting.Value
		case "vcs.revision":
			facts.Commit = &setting.Value
		case "vcs.time":
			facts.CommitTime = &setting.Value
		case "vcs.modified":
			facts.Dirty = new(setting.Value == "true")
		}
	}
	for _, module := range build.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		facts.Modules = append(facts.Modules, buildModule{module.Path, module.Version, module.Sum})
	}
	return facts
}

// commit formats the commit for people.
func (f buildFacts) commit() string {
	if f.Commit == nil {
		return "unknown"
	}
	text := *f.Commit
	if f.Dirty != nil && *f.Dirty {
		text += ", with changes"
	}
	if f.CommitTime != nil {
		text += " (" + *f.CommitTime + ")"
	}
	return text
}

func versionCommand(a *cli.App) *cobra.Command {
	var o cli.ShortFlags
	sbom, licenses := false, false
	cmd := &cobra.Command{
		Use: "version", Short: "Print version and build information", Args: cli.Args(),
		Long: `Print version, commit, Go version and platform of this build, and with --json the
versions and checksums of all its modules. Unknown values are null. --sbom prints the
modules as a bill of materials, CycloneDX 1.6 in JSON. --licenses prints the libraries that
the control room loads in a browser, with the texts of their licenses.`,
		Example: "  ac version\n  ac version --json | jq -r .commit\n  ac version --sbom\n  ac version --licenses",
		RunE: func(*cobra.Command, []string) error {
			build, _ := debug.ReadBuildInfo() // nil if unavailable
			facts := factsOf(build)
			switch {
			case licenses && o.AsJSON:
				list, _, err := web.Libraries()
				if err != nil {
					return err
				}
				return a.PrintJSON(list)
			case licenses:
				text, err := licenseTexts()
				fmt.Fprint(a.Stdout, text)
				return err
			case sbom:
				return a.PrintJSON(billOf(facts))
			case o.AsJSON:
				return a.PrintJSON(facts)
			}
			_, err := fmt.Fprintf(a.Stdout, "ac %s\ncommit: %s\nbuilt with %s for %s/%s\n", facts.Version, facts.commit(), facts.Go, facts.OS, facts.Arch)
			return err
		},
	}
	a.Everywhere(cmd, &o)
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the libraries of the control room and their licenses")
	cmd.Flags().BoolVar(&sbom, "sbom", false, "print a bill of materials: CycloneDX 1.6 in JSON")
	return cmd
}
