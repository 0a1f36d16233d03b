package main

// Options that accept only decimal integers.

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
)

// mostRows is the maximum limit of a list.
const mostRows = 5000

// decimal is an option that accepts only decimal integers: 010 is ten, and 0x10 and 1_000 are
// invalid.
type decimal struct {
	pflag.Value
	limit bool // a limit of rows: at least 1; larger numbers are capped
}

// Set parses digits with an optional sign.
func (d decimal) Set(text string) error {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil && (!d.limit || !errors.Is(err, strconv.ErrRange)) {
		return cli.UsageError{Message: "must be a whole number"}
	}
	if d.limit {
		if number < 1 {
			return cli.UsageError{Message: "must be at least 1"}
		}
		number = min(number, mostRows)
	}
	return d.Value.Set(strconv.FormatInt(number, 10))
}

// takeDecimals makes all numeric options of all commands decimal. Those of the library also accept
// other bases.
func takeDecimals(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(option *pflag.Flag) {
			if kind := option.Value.Type(); kind == "int" || kind == "int64" {
				option.Value = decimal{option.Value, option.Name == "limit" || strings.HasSuffix(option.Name, "-limit")}
			}
		})
	}
}
