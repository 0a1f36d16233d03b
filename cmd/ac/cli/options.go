package cli

// Options that mirror params. Whether one is required, its default and its words come from the plan
// that checks the same params on the wire.

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/internal/shape"
)

// Mirror declares options for the fields of params, which points to an operation's params struct. A
// declaration is "option: description". If the field is named neither like the option nor with _id
// appended, it is "option=field: description". "option?" is optional for the command even if the
// operation requires the field. A value that the field already has is the option's default, and
// overrides that of the plan.
//
// Before the command runs, Mirror refuses missing and blank required options, and sets the
// workspace of params to the argument <dir>. The operation checks the values.
func Mirror(cmd *cobra.Command, params any, declarations ...string) {
	v := reflect.ValueOf(params).Elem()
	var required []string
	for _, declaration := range declarations {
		if option, needed := declare(cmd, v, declaration); needed {
			required = append(required, option)
		}
	}
	_, takesDir := shape.FieldNamed(v.Type(), "workspace_dir")
	takesDir = takesDir && strings.Contains(cmd.Use+" ", " <dir> ")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, given []string) error {
		if before != nil {
			if err := before(cmd, given); err != nil {
				return err
			}
		}
		if takesDir {
			v.FieldByName("WorkspaceDir").SetString(given[0])
		}
		return Require(cmd, required...)
	}
}

// declare declares the option of one declaration and reports whether it is required.
func declare(cmd *cobra.Command, params reflect.Value, declaration string) (option string, required bool) {
	name, usage, _ := strings.Cut(declaration, ": ")
	option, field, named := strings.Cut(name, "=")
	option, derived := strings.CutSuffix(option, "?")
	if !named {
		field = strings.ReplaceAll(option, "-", "_")
	}
	f, ok := shape.FieldNamed(params.Type(), field)
	if !ok {
		f, ok = shape.FieldNamed(params.Type(), field+"_id")
	}
	if !ok {
		panic("no param " + field + " for an option of " + cmd.Name())
	}
	if len(f.Words) > 0 {
		usage += ": " + strings.Join(f.Words, ", ")
	}
	at := params.FieldByIndex(f.Index)
	required = f.Required && !derived && at.Kind() != reflect.Bool
	if required && at.IsZero() {
		usage += " (required)"
	}
	flags := cmd.Flags()
	switch into := at.Addr().Interface().(type) {
	case *string:
		if *into == "" {
			*into = f.Default
		}
		flags.StringVar(into, option, *into, usage)
	case *bool:
		flags.BoolVar(into, option, *into || f.Default == "true", usage)
	case *int:
		flags.IntVar(into, option, int(number(float64(*into), f)), usage)
	case *int64:
		flags.Int64Var(into, option, int64(number(float64(*into), f)), usage)
	case *float64:
		flags.Float64Var(into, option, number(*into, f), usage)
	case *[]string:
		ValuesVar(cmd, into, option, usage)
	default:
		panic("no option can set " + params.Type().String() + "." + field)
	}
	if len(f.Words) > 0 {
		CompleteFlag(cmd, option, Words(f.Words...))
	}
	return option, required
}

// number returns the default of a numeric option.
func number(preset float64, f shape.Field) float64 {
	if preset == 0 && f.Default != "" {
		preset, _ = strconv.ParseFloat(f.Default, 64) // tests check that it parses
	}
	return preset
}
