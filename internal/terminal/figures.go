package terminal

// Figures as lists show them: short, and never wider than seven columns.

import (
	"fmt"
	"strconv"
	"time"
)

// Unknown stands for an unknown figure.
const Unknown = "-"

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// FormatAge formats how long ago something was: now, 42s, 5m, 3h, 9d, 6w, and the month if it is
// older than ten weeks. An unknown time is Unknown, a time in the future is now.
func FormatAge(at, now time.Time) string {
	if at.IsZero() {
		return Unknown
	}
	switch d := now.Sub(at); {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return wholeUnits(d, time.Second) + "s"
	case d < time.Hour:
		return wholeUnits(d, time.Minute) + "m"
	case d < day:
		return wholeUnits(d, time.Hour) + "h"
	case d < 2*week:
		return wholeUnits(d, day) + "d"
	case d < 10*week:
		return wholeUnits(d, week) + "w"
	}
	return at.Format("2006-01")
}

func wholeUnits(d, unit time.Duration) string { return strconv.FormatInt(int64(d/unit), 10) }

// FormatDuration formats how long something took: 0.1s, 42s, 5m12s, 2h05m, 3d04h.
func FormatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return Unknown
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return wholeUnits(d, time.Second) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// FormatTokens formats a number of tokens: 812, 14.2k, 310k, 1.3M.
func FormatTokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}

// FormatCost formats an amount of dollars: $0.11, <$0.01 for less than a cent, Unknown for nil.
func FormatCost(usd *float64) string {
	switch {
	case usd == nil:
		return Unknown
	case *usd > 0 && *usd < 0.01:
		return "<$0.01"
	}
	return "$" + strconv.FormatFloat(*usd, 'f', 2, 64)
}

// FormatCount formats a number of things, named by a singular with a regular plural: 1 log, 1,214 logs.
func FormatCount(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return FormatGrouped(n) + " " + thing
}

// FormatGrouped formats a number with commas between its thousands.
func FormatGrouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
