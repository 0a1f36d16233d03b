package usage

// Context cycles: signals in a provider's JSON that it has compacted its context.

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"ac/internal/lazyregexp"
	"ac/internal/shape"
	"ac/workspace/doc"
)

// Sources of a cycle.
const (
	FromJSONL        = "provider_jsonl"
	FromNotification = "provider_notification"
)

// Cycle is one signal. A boundary counts each time it occurs. Any other signal counts once per
// run.
type Cycle struct {
	Count    int64
	Type     string
	Source   string
	boundary bool
}

var (
	cyclePath  = lazyregexp.New(`compact|compaction|context.?window|cycle`)
	cycleKey   = lazyregexp.New(`compact|cycle`)
	cycleWords = lazyregexp.New(`compact|cycled|context window`)
)

// noCycle reports whether a word in a key shows that its number is a size, limit or name instead
// of a count of cycles.
func noCycle(word string) bool {
	return slices.Contains([]string{
		"token", "tokens", "size", "limit", "max", "min", "budget", "threshold", "percent", "pct", "ratio", "time", "ms", "sec",
		"duration", "version", "id", "index", "recycle", "recycled", "lifecycle",
	}, word)
}

func isBoundary(text string) bool {
	return slices.Contains([]string{"compact_boundary", "context_compacted", "context_compaction", "compacted"}, text)
}

// signals returns the cycle signals in an object, at any depth.
func signals(v *shape.Value, source string) (found []Cycle) {
	walk(v, "", 0, func(path, key string, value *shape.Value) {
		if value.Kind == shape.String && (key == "type" || key == "subtype") && isBoundary(value.Text) {
			found = append(found, Cycle{1, value.Text, source, true})
			return
		}
		if !cyclePath().MatchString(path) {
			return
		}
		n := int64(0)
		switch {
		case value.Kind == shape.Number && value.Num >= 1 && value.Num <= maxCount && countsCycles(key):
			n = int64(math.Floor(value.Num))
		case value.Kind == shape.Bool && value.Bool:
			n = 1
		case value.Kind == shape.String && cycleWords().MatchString(strings.ToLower(value.Text)):
			n = 1
		}
		if n > 0 {
			found = append(found, Cycle{n, path, source, false})
		}
	})
	return found
}

// maxWalk is the nesting limit of walk.
const maxWalk = 512

func walk(v *shape.Value, path string, depth int, visit func(path, key string, value *shape.Value)) {
	if depth > maxWalk {
		return
	}
	for i := range v.Items {
		item := &v.Items[i]
		if v.Kind == shape.List {
			if item.Kind == shape.Map {
				walk(item, path, depth+1, visit)
			}
			continue
		}
		at := strings.ToLower(v.Keys[i])
		if path != "" {
			at = path + "." + at
		}
		visit(at, v.Keys[i], item)
		if item.Kind == shape.Map || item.Kind == shape.List {
			walk(item, at, depth+1, visit)
		}
	}
}

// countsCycles reports whether the number under a key may count cycles.
func countsCycles(key string) bool {
	return cycleKey().MatchString(strings.ToLower(key)) && !slices.ContainsFunc(words(key), noCycle)
}

// words splits a key at underscores, hyphens and lower-to-upper case changes.
func words(key string) (list []string) {
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			list = append(list, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, r := range key {
		if r == '_' || r == '-' || (unicode.IsUpper(r) && lower) {
			flush()
		}
		if r != '_' && r != '-' {
			word.WriteRune(r)
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	flush()
	return list
}

// cycles summarizes signals for the run's record.
func cycles(taken []Cycle) *doc.ContextCycles {
	c := &doc.ContextCycles{Source: "unavailable"}
	for _, signal := range taken {
		c.Count = addCounts(c.Count, signal.Count)
		c.SignalTypes = append(c.SignalTypes, signal.Type)
	}
	if c.Count > 0 {
		c.Source = "provider_signal"
		slices.Sort(c.SignalTypes)
		c.SignalTypes = slices.Compact(c.SignalTypes)
	}
	return c
}
