package company

// Params and checks that many operations share.

import (
	"strings"

	"ac/internal/fault"
	"ac/internal/shape"
)

// OK is the result of operations without other results.
type OK struct {
	OK bool `json:"ok"`
}

func notBlank(field, value string) []fault.Issue {
	if strings.TrimSpace(value) == "" {
		return []fault.Issue{{Path: []any{field}, Code: "custom", Message: "must not be blank"}}
	}
	return nil
}

// NoParams are the params of methods that take none.
type NoParams struct{}

// ProjectParams are the params of methods that only take a project.
type ProjectParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
}

func orDefault(text, standard string) string {
	if strings.TrimSpace(text) == "" {
		return standard
	}
	return text
}

// orNil is nil for an empty text.
func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// namedText is a text param with its name.
type namedText struct{ name, value string }

// checkIDs checks ids that may become paths, where no tag does.
func checkIDs(ids ...namedText) error {
	var issues []fault.Issue
	for _, id := range ids {
		if why := shape.CheckID(id.value); why != "" {
			issues = append(issues, fault.Issue{Path: []any{id.name}, Code: "custom", Message: why})
		}
	}
	if len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}
