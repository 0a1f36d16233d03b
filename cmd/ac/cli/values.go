package cli

// Options that take one or more values: --insert "- a" "- b".

import (
	"strings"

	"github.com/spf13/cobra"
)

// values is an option that takes one or more values and may be repeated. A value may begin with a
// dash and a blank. A greedy option takes everything up to the next long option of its command.
type values struct {
	into   *[]string
	greedy bool
}

func (v values) String() string {
	if v.into == nil {
		return ""
	}
	return strings.Join(*v.into, " ")
}

// Set adds one value. Expand has separated them.
func (v values) Set(value string) error {
	*v.into = append(*v.into, value)
	return nil
}

// Append adds one value.
func (v values) Append(value string) error { return v.Set(value) }

// Replace replaces the values.
func (v values) Replace(all []string) error {
	*v.into = all
	return nil
}

// GetSlice returns the values.
func (v values) GetSlice() []string { return *v.into }

// Type returns the name of the values in help texts.
func (v values) Type() string { return "value.." }

// ValuesVar declares an option that takes one or more values.
func ValuesVar(cmd *cobra.Command, into *[]string, name, usage string) {
	cmd.Flags().Var(values{into: into}, name, usage)
}

// CommandLineVar declares an option that takes a whole command line, dashes
// included.
func CommandLineVar(cmd *cobra.Command, into *[]string, name, usage string) {
	cmd.Flags().Var(values{into, true}, name, usage)
}

// Expand rewrites a command line to the form that the parser expects.
func Expand(root *cobra.Command, given []string) ([]string, error) {
	return expandMulti(root, commandFirst(given))
}

// expandMulti repeats the option before each of its values, as the parser expects. It refuses a
// value for a boolean flag, which the parser would accept.
func expandMulti(root *cobra.Command, given []string) ([]string, error) {
	cmd, _, err := root.Find(given)
	if err != nil {
		return given, nil //nolint:nilerr // the parser reports it
	}
	var plain []string
	for i := 0; i < len(given); i++ {
		name, long := strings.CutPrefix(given[i], "--")
		if long && name == "" {
			return append(plain, given[i:]...), nil // the rest are not options
		}
		v, several := valuesOf(cmd, name)
		if flag, _, valued := strings.Cut(name, "="); long && valued && isFlag(cmd, flag) {
			return nil, UsageError{"--" + flag + " takes no value"}
		}
		if !long || !several {
			plain = append(plain, given[i])
			if takesNext(cmd, given[i]) && i+1 < len(given) {
				i++
				plain = append(plain, given[i])
			}
			continue
		}
		first := i + 1
		for i+1 < len(given) && v.takes(cmd, given[i+1]) {
			i++
			plain = append(plain, "--"+name+"="+given[i])
		}
		if i+1 == first {
			plain = append(plain, given[first-1]) // the parser reports the missing value
			if first < len(given) {
				return plain, nil
			}
		}
	}
	return plain, nil
}

func isFlag(cmd *cobra.Command, name string) bool {
	option := cmd.Flags().Lookup(name)
	return option != nil && option.Value.Type() == "bool"
}

func valuesOf(cmd *cobra.Command, name string) (v values, ok bool) {
	option := cmd.Flags().Lookup(name)
	if option == nil {
		return v, false
	}
	v, ok = option.Value.(values)
	return v, ok
}

// takes reports whether an argument is a value of this option.
func (v values) takes(cmd *cobra.Command, argument string) bool {
	if v.greedy {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		return !strings.HasPrefix(argument, "--") || cmd.Flags().Lookup(name) == nil
	}
	return !strings.HasPrefix(argument, "-") || argument == "-" || strings.HasPrefix(argument, "- ")
}

// takesNext reports whether an argument is a long option whose value is the
// next argument.
func takesNext(cmd *cobra.Command, argument string) bool {
	name, long := strings.CutPrefix(argument, "--")
	if !long || strings.Contains(name, "=") {
		return false
	}
	option := cmd.Flags().Lookup(name)
	return option != nil && option.NoOptDefVal == ""
}
