package main

// The third-party libraries of the control room's page, with their licenses.

import (
	"fmt"
	"strings"

	"ac/web"
)

// licenseTexts returns the libraries with the texts of their licenses.
func licenseTexts() (string, error) {
	list, texts, err := web.Libraries()
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s %s (%s)\n%s\n\n%s\n\n", l.Name, l.Version, l.License, l.From, strings.TrimSpace(texts[l.Name]))
	}
	return b.String(), err
}
