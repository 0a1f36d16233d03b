package rpc

// Compatibility: the server answers a client of the previous version as that version did.

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestConversationsOfTheVersionBefore replays the previous version's conversations unchanged.
// Answers may add members to objects and elements to some lists, and reword texts for people.
func TestConversationsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/before/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d conversations: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			converse(t, file, holds)
		})
	}
}

// anything matches the placeholder of a value that may be anything.
var anything = regexp.MustCompile(`(":)<any>([,}])`)

// holds reports whether an answer contains everything that the previous version's answer did.
func holds(want, got string) bool {
	var was, is any
	want = anything.ReplaceAllString(strings.ReplaceAll(want, "<n>", "0"), `$1"<any>"$2`)
	if json.Unmarshal([]byte(want), &was) != nil || json.Unmarshal(neutral(got), &is) != nil {
		return fits(want, got)
	}
	return holdsValue("", was, is)
}

// holdsValue compares a member of an answer, or an element of it.
func holdsValue(name string, was, is any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		for member, value := range was {
			held, there := now[member]
			ok = ok && there && holdsValue(member, value, held)
		}
		return ok
	case []any:
		now, ok := is.([]any)
		return ok && holdsList(name, was, now)
	case string:
		return was == "<any>" || holdsText(name, was, is)
	}
	return reflect.DeepEqual(was, is)
}

// holdsList compares lists. Lists of methods, notifications, checks and values may have grown.
func holdsList(name string, was, is []any) bool {
	grows := slices.Contains([]string{"methods", "notifications", "checks", "values"}, name)
	for _, value := range was {
		for grows && len(is) > 0 && !holdsValue(name, value, is[0]) {
			is = is[1:]
		}
		if len(is) == 0 || !holdsValue(name, value, is[0]) {
			return false
		}
		is = is[1:]
	}
	return grows || len(is) == 0
}

// holdsText compares texts. Sentences may be reworded. Of a diff, only the changed lines count.
func holdsText(name, was string, is any) bool {
	now, ok := is.(string)
	switch name {
	case "message", "error", "hint", "details", "rationale", "reason":
		return ok && strings.Contains(was, " ") == strings.Contains(now, " ") && (strings.Contains(was, " ") || was == now)
	case "diff":
		return ok && changed(was) == changed(now)
	}
	return ok && fits(was, now)
}

// changed returns the lines that a diff adds and removes.
func changed(diff string) (lines string) {
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			lines += line
		}
	}
	return lines
}
