package shape

// Binding values to structs, with a plan that is compiled once for each type.

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ac/internal/clock"
	"ac/internal/fault"
)

// Checker is implemented by structs whose fields depend on each other. Check is called only if
// each field is valid by itself. Paths are relative to the struct.
type Checker interface{ Check() []fault.Issue }

// FieldChecker is implemented by structs with fields that no rule can describe. CheckFields is
// always called, so that all bad fields are reported at once. Its issues about fields that are
// already known to be bad are dropped.
type FieldChecker interface{ CheckFields() []fault.Issue }

// Bind fills the struct that target points to and returns the issues. Without
// issues every field obeys its rules.
func (p *Plan) Bind(v *Value, target any) []fault.Issue {
	b := binder{}
	b.structure(p, v, reflect.ValueOf(target).Elem())
	return b.issues
}

type binder struct {
	path   []any
	issues []fault.Issue
}

func (b *binder) issue(i fault.Issue) {
	i.Path = append(slices.Clone(b.path), i.Path...)
	if i.Path == nil {
		i.Path = []any{}
	}
	b.issues = append(b.issues, i)
}

func (b *binder) wrongType(expected string, got *Value) {
	b.issue(fault.Issue{Code: "invalid_type", Expected: expected, Message: fmt.Sprintf("expected %s, got %s", expected, describe(got))})
}

func describe(v *Value) string {
	switch {
	case v.Kind == Number && math.Abs(v.Num) > maxInteger:
		return "a number that is too large"
	case v.Kind == Number && v.Num != math.Trunc(v.Num):
		return "a fraction"
	}
	return v.Kind.String()
}

func (b *binder) structure(p *Plan, v *Value, into reflect.Value) {
	if v.Kind != Map {
		b.wrongType("object", v)
		return
	}
	before := len(b.issues)
	for _, f := range p.fields {
		b.path = append(b.path, f.name)
		b.field(f, v.Get(f.name), into.FieldByIndex(f.index))
		b.path = b.path[:len(b.path)-1]
	}
	if p.strict {
		b.unknownKeys(p, v)
	}
	b.checks(into.Addr().Interface(), before)
}

// checks runs the checkers of a struct. before is the number of issues that were reported
// before the struct.
func (b *binder) checks(target any, before int) {
	fits := len(b.issues) == before
	if checker, ok := target.(FieldChecker); ok {
		known := b.issues[before:]
		for _, i := range checker.CheckFields() {
			same := func(k fault.Issue) bool { return sameField(k.Path[len(b.path):], i.Path) }
			if !slices.ContainsFunc(known, same) {
				b.issue(i)
			}
		}
	}
	if checker, ok := target.(Checker); ok && fits {
		for _, i := range checker.Check() {
			b.issue(i)
		}
	}
}

// sameField reports whether two paths begin with the same field.
func sameField(a, b []any) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }

func (b *binder) unknownKeys(p *Plan, v *Value) {
	var unknown []string
	seen := map[string]bool{}
	for _, key := range v.Keys {
		if !seen[key] && !p.Has(key) {
			seen[key] = true
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		b.issue(fault.Issue{Code: "unrecognized_keys", Keys: unknown, Message: "unknown: " + strings.Join(unknown, ", ")})
	}
}

func (b *binder) field(f field, v *Value, into reflect.Value) {
	if v.Kind == Absent {
		switch {
		case f.rule.hasDef:
			setDefault(into, f.rule.def)
		case !f.rule.optional && !f.rule.nullable:
			b.wrongType(expected(into.Type()), v)
		}
		return
	}
	if v.Kind == Null && f.rule.nullable {
		return
	}
	b.value(f, v, into)
}

func (b *binder) value(f field, v *Value, into reflect.Value) {
	if into.Type() == valueType {
		if f.rule.object && v.Kind != Map {
			b.wrongType("object", v)
			return
		}
		into.Set(reflect.ValueOf(*v))
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(into.Type().Elem())
		before := len(b.issues)
		b.value(f, v, fresh.Elem())
		if len(b.issues) == before {
			into.Set(fresh)
		}
	case reflect.Struct:
		b.structure(f.plan, v, into)
	case reflect.Slice:
		b.list(f, v, into)
	case reflect.Map:
		b.mapping(f, v, into)
	case reflect.String:
		b.text(f.rule, v, into)
	case reflect.Bool:
		if v.Kind != Bool {
			b.wrongType("boolean", v)
			return
		}
		into.SetBool(v.Bool)
	default:
		b.number(f.rule, v, into)
	}
}

func (b *binder) list(f field, v *Value, into reflect.Value) {
	if v.Kind != List {
		b.wrongType("array", v)
		return
	}
	if len(v.Items) < f.rule.minItems {
		b.tooSmall(float64(f.rule.minItems), true, fmt.Sprintf("must have at least %d items", f.rule.minItems))
	}
	into.Set(reflect.MakeSlice(into.Type(), len(v.Items), len(v.Items)))
	for i := range v.Items {
		b.path = append(b.path, i)
		b.value(f, &v.Items[i], into.Index(i))
		b.path = b.path[:len(b.path)-1]
	}
}

func (b *binder) mapping(f field, v *Value, into reflect.Value) {
	if v.Kind != Map {
		b.wrongType("object", v)
		return
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(v.Keys)))
	last := make(map[string]int, len(v.Keys))
	for i, key := range v.Keys {
		last[key] = i
	}
	for i, key := range v.Keys {
		if last[key] != i {
			continue // as everywhere, the last duplicate counts
		}
		b.path = append(b.path, key)
		item := reflect.New(into.Type().Elem()).Elem()
		if v.Items[i].Kind != Null || item.Kind() != reflect.Pointer { // null is a valid value of a pointer
			b.value(f, &v.Items[i], item)
		}
		into.SetMapIndex(reflect.ValueOf(strings.ToValidUTF8(key, "\uFFFD")), item)
		b.path = b.path[:len(b.path)-1]
	}
}

func (b *binder) text(r rule, v *Value, into reflect.Value) {
	if v.Kind != String {
		b.wrongType("string", v)
		return
	}
	custom := func(why string) { b.issue(fault.Issue{Code: "custom", Message: why}) }
	switch {
	case v.Text == "" && !r.empty:
		b.tooSmall(1, true, "must not be empty")
	case len(v.Text) < r.minLen:
		b.tooSmall(float64(r.minLen), true, fmt.Sprintf("must have at least %d characters", r.minLen))
	case r.maxBytes > 0 && len(v.Text) > r.maxBytes:
		b.tooBig(float64(r.maxBytes), fmt.Sprintf("must have at most %d bytes", r.maxBytes))
	case r.id && CheckID(v.Text) != "":
		custom(CheckID(v.Text))
	case r.path && strings.ContainsRune(v.Text, 0):
		custom("must not contain NUL")
	case r.path && len(v.Text) > maxPath:
		b.tooBig(maxPath, fmt.Sprintf("must have at most %d bytes: no system takes a longer path", maxPath))
	case r.path && longComponent(v.Text):
		custom(fmt.Sprintf("must not have a name of more than %d bytes between its slashes", maxName))
	case r.enum != nil && !slices.Contains(r.enum, v.Text):
		b.issue(fault.Issue{Code: "invalid_value", Values: r.enum, Message: "must be " + oneOf(r.enum)})
	case r.time && !isTime(v.Text):
		custom("must be a timestamp such as 2026-11-20T14:58:45.475Z")
	}
	text := v.Text
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	into.SetString(text)
}

// The longest path, and the longest component of one, that systems accept.
const (
	maxPath = 4096
	maxName = 255
)

func longComponent(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if len(name) > maxName {
			return true
		}
	}
	return false
}

func isTime(s string) bool { _, ok := clock.Parse(s); return ok }

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// maxInteger is the largest integer that every JSON reader represents exactly.
const maxInteger = 1<<53 - 1

func (b *binder) number(r rule, v *Value, into reflect.Value) {
	integer := into.CanInt()
	if v.Kind != Number || math.IsInf(v.Num, 0) || math.IsNaN(v.Num) ||
		(integer && (v.Num != math.Trunc(v.Num) || math.Abs(v.Num) > maxInteger)) {
		b.wrongType(expected(into.Type()), v)
		return
	}
	n := v.Num
	switch {
	case r.min != nil && r.gt && n <= *r.min:
		b.tooSmall(*r.min, false, "must be greater than "+plain(*r.min))
	case r.min != nil && n < *r.min:
		b.tooSmall(*r.min, true, "must be at least "+plain(*r.min))
	case r.max != nil && n > *r.max:
		b.tooBig(*r.max, "must be at most "+plain(*r.max))
	case r.hasCut && n > r.cut:
		n = r.cut
	}
	if integer {
		into.SetInt(int64(n))
	} else {
		into.SetFloat(n)
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (b *binder) tooSmall(minimum float64, inclusive bool, message string) {
	b.issue(fault.Issue{Code: "too_small", Minimum: &minimum, Inclusive: &inclusive, Message: message})
}

func (b *binder) tooBig(maximum float64, message string) {
	inclusive := true
	b.issue(fault.Issue{Code: "too_big", Maximum: &maximum, Inclusive: &inclusive, Message: message})
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int64:
		return "integer"
	}
	return "number"
}

func setDefault(into reflect.Value, text string) {
	switch into.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(into.Type().Elem())
		setDefault(fresh.Elem(), text)
		into.Set(fresh)
	case reflect.String:
		into.SetString(text)
	case reflect.Bool:
		into.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		n, _ := strconv.ParseInt(text, 10, 64)
		into.SetInt(n)
	case reflect.Float64:
		n, _ := strconv.ParseFloat(text, 64)
		into.SetFloat(n)
	case reflect.Slice:
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
	}
}
