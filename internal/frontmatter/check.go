package frontmatter

// Validation of Markdown records, for people who write them by hand.

import (
	"errors"
	"strings"

	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Issue is a defect of a Markdown document.
type Issue struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Check checks the front matter of a Markdown document and, if it is valid, the
// headings that due returns.
func Check[T any](text []byte, codec yamldoc.Codec[T], due func(T) []string) []Issue {
	head, body, err := Split(text)
	if err != nil {
		return []Issue{{"frontmatter", err.Error()}}
	}
	fields, err := yamldoc.Parse(head)
	if err != nil {
		return []Issue{{"frontmatter", "frontmatter_yaml_parse_error: " + err.Error()}}
	}
	document, err := codec.Bind(&fields)
	issues := []Issue{}
	if misfit, ok := errors.AsType[*yamldoc.SchemaError](err); ok {
		for _, issue := range misfit.Issues {
			issues = append(issues, schemaIssues(issue)...)
		}
		return issues
	}
	for _, heading := range due(document) {
		if !HasHeading(body, heading) {
			issues = append(issues, Issue{"missing_heading", "missing_heading: " + heading})
		}
	}
	return issues
}

// schemaIssues returns an issue for each field that does not match the schema.
func schemaIssues(issue fault.Issue) []Issue {
	if len(issue.Keys) == 0 {
		return []Issue{{"frontmatter_schema", issue.String()}}
	}
	issues := make([]Issue, len(issue.Keys))
	for i, key := range issue.Keys {
		issues[i] = Issue{"frontmatter_schema", strings.TrimPrefix(issue.Field()+"."+key, ".") + ": unknown field"}
	}
	return issues
}
