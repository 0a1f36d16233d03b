// Package pm plans: it schedules the tasks of a project by the critical path method, computes
// their progress, recommends agents, and changes tasks. Schedules, forecasts and
// recommendations are pure functions of documents: they read no files and no clock.
package pm
