package main

// Figures and how they are printed.

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// figure is one measured value. Target and Limit are 0 if there is none.
type figure struct {
	Name   string  `json:"name"`
	Of     string  `json:"of,omitempty"` // the measured size, if there are several
	Unit   string  `json:"unit"`
	Seen   float64 `json:"seen"`
	Target float64 `json:"target,omitempty"`
	// AtLeast makes the target a minimum instead of a maximum.
	AtLeast bool `json:"at_least,omitempty"`
	// Zero makes the target exactly 0.
	Zero bool `json:"zero,omitempty"`
	// Limit is what the bare machine reached in the same run, and By is how.
	Limit float64 `json:"limit,omitempty"`
	By    string  `json:"limit_is,omitempty"`
	// Note describes the distribution or the conditions.
	Note string `json:"note,omitempty"`
}

// title returns what was measured, and at which size.
func (f figure) title() string {
	if f.Of == "" {
		return f.Name
	}
	return f.Name + ", " + f.Of
}

// result returns "ok", "MISSED", or "" if there is no target.
func (f figure) result() string {
	met := f.Seen <= f.Target
	switch {
	case f.Zero:
		met = f.Seen == 0
	case f.Target == 0:
		return ""
	case f.AtLeast:
		met = f.Seen >= f.Target
	}
	if met {
		return "ok"
	}
	return "MISSED"
}

func (f figure) target() string {
	switch {
	case f.Zero:
		return "none"
	case f.Target == 0:
		return ""
	case f.AtLeast:
		return "> " + show(f.Target, f.Unit)
	}
	return "< " + show(f.Target, f.Unit)
}

func (f figure) limit() (limit, ratio string) {
	if f.Limit == 0 {
		return "", ""
	}
	return show(f.Limit, f.Unit) + " " + f.By, fmt.Sprintf("%.3g", f.Seen/f.Limit)
}

// show formats a value with three significant digits, and large values in full.
func show(v float64, unit string) string {
	digits := 0
	if v != 0 && math.Abs(v) < 100 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	return fmt.Sprintf("%.*f %s", min(digits, 3), v, unit)
}

// printReport writes all figures as a table, or as one JSON array.
func printReport(w io.Writer, figures []figure, asJSON bool) error {
	if asJSON {
		type row struct {
			figure
			Ratio   float64 `json:"ratio,omitempty"`
			Verdict string  `json:"verdict,omitempty"`
		}
		rows := make([]row, 0, len(figures))
		for _, f := range figures {
			r := row{figure: f, Verdict: f.result()}
			if f.Limit != 0 {
				r.Ratio = f.Seen / f.Limit
			}
			rows = append(rows, r)
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(rows)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tseen\ttarget\t\tlimit in the same run\tseen/limit\tnote")
	for _, f := range figures {
		limit, ratio := f.limit()
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.title(), show(f.Seen, f.Unit), f.target(), f.result(), limit, ratio, f.Note)
	}
	return table.Flush()
}

// samples are repeated timings of one thing.
type samples []time.Duration

// quantile returns the sample below which the share q of all samples is.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (s samples) median() time.Duration { return s.quantile(0.5) }

// spread describes the distribution.
func (s samples) spread() string {
	round := func(d time.Duration) time.Duration {
		if d > time.Millisecond {
			return d.Round(10 * time.Microsecond)
		}
		return d.Round(100 * time.Nanosecond)
	}
	return fmt.Sprintf("min %s, median %s, p95 %s of %d", round(s.quantile(0)), round(s.median()), round(s.quantile(0.95)), len(s))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// rate returns n per second.
func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// repeat runs a function n times and returns the time of each.
func repeat(n int, thing func() error) (samples, error) {
	var all samples
	for range n {
		began := time.Now()
		if err := thing(); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}
