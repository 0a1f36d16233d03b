package main

// Options that are whole decimal numbers.

import (
	"strconv"

	"github.com/spf13/cobra"
)

// whole is an option that is a whole decimal number.
type whole struct{ into *int64 }

func (n whole) String() string {
	if n.into == nil || *n.into == 0 {
		return ""
	}
	return strconv.FormatInt(*n.into, 10)
}

// Set takes digits only: no sign of another base, no fraction.
func (n whole) Set(text string) error {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return usageError{"must be a whole number"}
	}
	*n.into = value
	return nil
}

// Type is how help calls the number.
func (n whole) Type() string { return "int" }

// wholeVar declares an option that is a whole number.
func wholeVar(cmd *cobra.Command, into *int64, name string, fallback int64, usage string) {
	*into = fallback
	cmd.Flags().Var(whole{into}, name, usage)
}
