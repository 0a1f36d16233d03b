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

// NotBlank rejects a text that is empty or only white space.
func NotBlank(field, value string) []fault.Issue {
	if strings.TrimSpace(value) == "" {
		return []fault.Issue{{Path: []any{field}, Code: "custom", Message: "must not be blank"}}
	}
	return nil
}

// NoParams are the params of methods that take none.
type NoParams struct{}

// ProjectParams are the params of methods that need only a project.
type ProjectParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
}

// OrNil returns nil for an empty text.
func OrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// NamedText is a text param with its name.
type NamedText struct{ Name, Value string }

// CheckIDs validates ids that may become paths, for params without a tag that does.
func CheckIDs(ids ...NamedText) error {
	var issues []fault.Issue
	for _, id := range ids {
		if why := shape.CheckID(id.Value); why != "" {
			issues = append(issues, fault.Issue{Path: []any{id.Name}, Code: "custom", Message: why})
		}
	}
	if len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}
