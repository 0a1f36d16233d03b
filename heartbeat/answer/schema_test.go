package answer

import "testing"

// TestSchemasAreStrict checks that the schemas meet the rules of the strictest CLI.
func TestSchemasAreStrict(t *testing.T) {
	t.Parallel()
	var check func(at string, s *Schema)
	check = func(at string, s *Schema) {
		if s.Properties != nil && (s.Closed == nil || *s.Closed || len(s.Required) != len(s.Properties)) {
			t.Errorf("%s: an open object, or properties that are not required", at)
		}
		for name, p := range s.Properties {
			check(at+"."+name, p)
		}
		if s.Items != nil {
			check(at+"[]", s.Items)
		}
		for _, one := range s.AnyOf {
			check(at+"|", one)
		}
	}
	for _, s := range []*Schema{ResultSchema("j", "r"), ReportSchema()} {
		if s.AnyOf != nil || s.Properties == nil {
			t.Error("the root is no object")
		}
		check("", s)
	}
	if n := len(ResultSchema("j", "r").Required); n != 11 {
		t.Errorf("%d keys", n)
	}
}
