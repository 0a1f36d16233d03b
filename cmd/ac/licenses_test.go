package main

import (
	"fmt"
	"strings"
	"testing"

	"ac/cmd/ac/cli/clitest"
	"ac/web"
)

// TestThirdPartyPage checks that docs/third-party.md matches the vendored libraries, and that the
// license texts include theirs.
func TestThirdPartyPage(t *testing.T) {
	t.Parallel()
	page, err := thirdParty()
	if err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, *update, "../../docs/third-party.md", page)
	text, err := licenseTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"marked 18.2.1 (MIT)", "dompurify 3.4.18 (Apache-2.0)", "Apache License", "uplot 1.6.32 (MIT)", "ansi_up 6.0.6 (MIT)", "@highlightjs/cdn-assets 11.12.0 (BSD-3-Clause)", "BSD 3-Clause"} {
		if !strings.Contains(text, part) {
			t.Errorf("the licenses have no %q", part)
		}
	}
}

// thirdParty returns docs/third-party.md: the vendored libraries with their sources and licenses.
func thirdParty() (string, error) {
	list, _, err := web.Libraries()
	var b strings.Builder
	b.WriteString("# Third-party libraries of the control room\n\n" +
		"The page of the control room loads these libraries, byte for byte as the npm registry has them.\n" +
		"They lie in `web/vendor` with their licenses, and are served by `ac` itself: nothing is loaded from\n" +
		"elsewhere. `scripts/vendor` takes a version, `scripts/vendor --check` compares every byte, and\n" +
		"`ac version --licenses` prints the licenses.\n\n" +
		"| library | version | license | files |\n|---|---|---|---|\n")
	for _, l := range list {
		files := make([]string, 0, len(l.Files))
		for _, f := range l.Served() {
			files = append(files, "`"+f.Path+"`")
		}
		fmt.Fprintf(&b, "| [%s](https://www.npmjs.com/package/%s/v/%s) | %s | %s | %s |\n", l.Name, l.Name, l.Version, l.Version, l.License, strings.Join(files, ", "))
	}
	b.WriteString("\n| library | integrity of the archive |\n|---|---|\n")
	for _, l := range list {
		fmt.Fprintf(&b, "| %s | `%s` |\n", l.From, l.Integrity)
	}
	return b.String(), err
}
