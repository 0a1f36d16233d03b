// Command vendored maintains the libraries that the control room's page loads. It downloads them
// from the npm registry at a pinned version, and verifies the registry's checksum of the archive.
// With --check it checks that every file matches vendor.json. scripts/vendor runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ac/internal/vendored"
)

// folder holds the libraries.
const folder = "web/vendor"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return fetch(ctx, "")
	case len(args) == 1 && args[0] == "--check":
		if err := vendored.Check(os.DirFS(folder)); err != nil {
			return err
		}
		fmt.Println("every vendored file is that of vendor.json")
		return warn(ctx)
	case len(args) == 1 && !strings.HasPrefix(args[0], "-"):
		return fetch(ctx, args[0])
	}
	return errors.New("usage: scripts/vendor [--check | <name>@<version>]")
}
