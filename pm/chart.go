package pm

// The time frame and its ticks, shared by all drawings of a plan.

import "time"

// frame is the range of days in a drawing: from the midnight at or before the first bar to
// the midnight at or after the end of the last.
type frame struct {
	from time.Time
	days int
}

const wholeDay = 24 * time.Hour

func frameOf(bars []Bar, today time.Time) frame {
	f := frame{from: today.UTC().Truncate(wholeDay), days: 1}
	if len(bars) == 0 {
		return f
	}
	first, last := bars[0].Start, bars[0].End
	for _, b := range bars {
		if b.Start.Before(first) {
			first = b.Start
		}
		if b.End.After(last) {
			last = b.End
		}
	}
	f.from = first.Truncate(wholeDay)
	f.days = int(max(1, (last.UnixMilli()-f.from.UnixMilli()+day-1)/day))
	return f
}

// at returns the position of a time in the frame, in days. Outside the frame it is negative
// or beyond days.
func (f frame) at(t time.Time) float64 {
	return float64(t.UnixMilli()-f.from.UnixMilli()) / float64(day)
}

// tick is a labelled day.
type tick struct {
	day   int
	label string
}

// ticks returns roughly at most this many days to label, at natural intervals.
func (f frame) ticks(most int) (ticks []tick) {
	step, layout := f.days, "2006"
	for _, s := range []struct {
		days   int
		layout string
	}{{1, "02 Jan"}, {2, "02 Jan"}, {7, "02 Jan"}, {14, "02 Jan"}, {30, "02 Jan 06"}, {91, "Jan 2006"}, {365, "2006"}, {1826, "2006"}, {3652, "2006"}, {7305, "2006"}, {36500, "2006"}} {
		if f.days/s.days <= most {
			step, layout = s.days, s.layout
			break
		}
	}
	for at := 0; at < f.days; at += max(1, step) {
		ticks = append(ticks, tick{at, f.from.AddDate(0, 0, at).Format(layout)})
	}
	return ticks
}
