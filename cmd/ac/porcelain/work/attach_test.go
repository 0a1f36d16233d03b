package work

import (
	"reflect"
	"testing"

	"ac/company/orchestration"
	"ac/runs/interaction"
)

// TestDecide checks each form of /allow and /deny. A reason is never mistaken for a decision.
func TestDecide(t *testing.T) {
	t.Parallel()
	of := func(kind string) *interaction.Record {
		r := new(interaction.Record)
		r.InteractionID, r.Kind = "i", kind
		return r
	}
	permission := of(interaction.Permission)
	answer := func(decision, scope, text string) (p orchestration.RespondParams) {
		if p.InteractionID, p.Decision, p.Scope = "i", decision, scope; text != "" {
			p.Text = &text
		}
		return p
	}
	for line, c := range map[[2]string]struct {
		asked *interaction.Record
		want  orchestration.RespondParams
		err   string
	}{
		{"/allow", ""}:                    {permission, answer("allow", "", ""), ""},
		{"/allow", "session"}:             {permission, answer("allow", "session", ""), ""},
		{"/allow", "it all"}:              {permission, answer("", "", ""), "/allow takes nothing, or session for the rest of the session"},
		{"/deny", ""}:                     {permission, answer("deny", "", ""), ""},
		{"/deny", "yes"}:                  {permission, answer("deny", "", "yes"), ""},
		{"/deny", "session"}:              {permission, answer("deny", "", "session"), ""},
		{"/deny", "1"}:                    {permission, answer("deny", "", "1"), ""},
		{"/deny", "use the other branch"}: {permission, answer("deny", "", "use the other branch"), ""},
		{"/deny", "no"}:                   {of(interaction.Question), orchestration.RespondParams{}, "/deny answers permissions; this is a question: type the answer"},
		{"/allow", "?"}:                   {nil, orchestration.RespondParams{}, "nothing is asked"},
	} {
		got, err := decide(c.asked, line[0], line[1])
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !reflect.DeepEqual(got, c.want) || said != c.err {
			t.Errorf("%v: %+v %q", line, got, said)
		}
	}
}
