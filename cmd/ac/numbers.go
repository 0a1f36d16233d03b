package main

// Options that are whole decimal numbers.

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostRows is how many rows a list has at most.
const mostRows = 5000

// decimal is an option that is a whole number, written in decimal: 010 is ten,
// and 0x10 and 1_000 are none.
type decimal struct {
	pflag.Value
	limit bool // of rows: from 1 on; larger numbers are cut
}

// Set takes digits, which may have a sign.
func (d decimal) Set(text string) error {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil && (!d.limit || !errors.Is(err, strconv.ErrRange)) {
		return usageError{"must be a whole number"}
	}
	if d.limit {
		if number < 1 {
			return usageError{"must be at least 1"}
		}
		number = min(number, mostRows)
	}
	return d.Value.Set(strconv.FormatInt(number, 10))
}

// takeDecimals makes all numeric options of all commands take decimal numbers
// only; those of the library take other bases too.
func takeDecimals(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(option *pflag.Flag) {
			if kind := option.Value.Type(); kind == "int" || kind == "int64" {
				option.Value = decimal{option.Value, option.Name == "limit" || strings.HasSuffix(option.Name, "-limit")}
			}
		})
	}
}
