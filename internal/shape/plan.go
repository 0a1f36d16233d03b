package shape

// Plans of struct types: the rules of each field, from its tags.

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Plan binds values to one struct type. It is immutable and safe for concurrent
// use.
type Plan struct {
	typ    reflect.Type
	fields []field
	strict bool
	needed bool
}

type field struct {
	name  string
	index []int
	rule  rule
	plan  *Plan // plan of the struct type of this field, or of its elements or values
}

type rule struct {
	optional bool
	nullable bool
	hasDef   bool
	def      string
	empty    bool
	object   bool
	id       bool
	path     bool
	time     bool
	enum     []string
	min, max *float64
	gt       bool
	cut      float64
	minLen   int
	maxBytes int
	minItems int
	hasCut   bool
}

var valueType = reflect.TypeFor[Value]()

// Compile returns the plan of a struct type. It panics on unknown rules, which are programming
// errors.
func Compile(t reflect.Type) *Plan {
	p := &Plan{typ: t}
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Name == "_" {
			p.strict = p.strict || sf.Tag.Get("is") == "strict"
			p.needed = p.needed || sf.Tag.Get("is") == "needed"
		}
	}
	n := 0
	eachField(t, nil, func(string, reflect.StructField) { n++ })
	p.fields = make([]field, 0, n) // exact capacity: each has hundreds of bytes, for the life of the process
	eachField(t, nil, func(name string, sf reflect.StructField) {
		f := field{name: name, index: sf.Index, rule: parseRule(sf)}
		if elem := element(sf.Type); elem.Kind() == reflect.Struct && elem != valueType {
			f.plan = Compile(elem)
		}
		p.fields = append(p.fields, f)
	})
	return p
}

// eachField calls visit for the fields of a struct type that have a JSON name, including those
// of embedded structs. The index of a field begins at the outermost struct.
func eachField(t reflect.Type, within []int, visit func(name string, sf reflect.StructField)) {
	for i := range t.NumField() {
		sf := t.Field(i)
		sf.Index = append(slices.Clip(within), i)
		if sf.Anonymous {
			eachField(sf.Type, sf.Index, visit)
			continue
		}
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name != "" && name != "-" && sf.Name != "_" {
			visit(name, sf)
		}
	}
}

// Field describes one field of a struct type.
type Field struct {
	Index    []int    // index path of the field, from the outermost struct
	Required bool     // a value must be present
	Default  string   // its text, "" if it has none
	Words    []string // the allowed values, if they are words
}

// FieldNamed returns a field of a struct type by its JSON name. It parses the rules of that
// field only, which is cheaper than a plan.
func FieldNamed(t reflect.Type, wanted string) (found Field, ok bool) {
	eachField(t, nil, func(name string, sf reflect.StructField) {
		if name == wanted {
			r := parseRule(sf)
			found, ok = Field{sf.Index, !r.optional && !r.nullable, r.def, r.enum}, true
		}
	})
	return found, ok
}

// element strips pointers, lists and maps from a type.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func parseRule(sf reflect.StructField) rule {
	var r rule
	tag := sf.Tag.Get("is")
	if tag == "" {
		return r
	}
	for word := range strings.SplitSeq(tag, ",") {
		key, arg, _ := strings.Cut(word, "=")
		number := func() *float64 {
			n, err := strconv.ParseFloat(arg, 64)
			if err != nil {
				panic("shape: " + sf.Name + ": " + word)
			}
			return &n
		}
		switch key {
		case "optional":
			r.optional = true
		case "default":
			r.optional, r.hasDef, r.def = true, true, arg
		case "nullable":
			r.nullable = true
		case "empty":
			r.empty = true
		case "object":
			r.object = true
		case "id":
			r.id = true
		case "path":
			r.path = true
		case "time":
			r.time = true
		case "enum":
			r.enum = strings.Split(arg, "|")
		case "visibility", "role":
			r.enum = Words(key)
		case "min":
			r.min = number()
		case "gt":
			r.min, r.gt = number(), true
		case "max":
			r.max = number()
		case "cut":
			r.hasCut, r.cut = true, *number()
		case "minlen":
			r.minLen = int(*number())
		case "maxbytes":
			r.maxBytes = int(*number())
		case "minitems":
			r.minItems = int(*number())
		default:
			panic("shape: unknown rule " + word + " of " + sf.Name)
		}
	}
	return r
}

// Needed reports whether the struct must be present although none of its fields
// must.
func (p *Plan) Needed() bool { return p.needed }

// Strict reports whether unknown keys of the struct are issues.
func (p *Plan) Strict() bool { return p.strict }

// Fields calls visit for every field of a struct of the plan's type, in order.
// omit is set for optional fields without a value.
func (p *Plan) Fields(v reflect.Value, visit func(name string, value reflect.Value, inner *Plan, omit bool)) {
	for _, f := range p.fields {
		value := v.FieldByIndex(f.index)
		visit(f.name, value, f.plan, f.rule.optional && !f.rule.hasDef && unset(value))
	}
}

// unset reports whether an optional field has no value. An empty list or map is
// a value; nil is not.
func unset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return v.IsNil()
	}
	return v.IsZero()
}
