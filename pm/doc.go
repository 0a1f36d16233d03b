// Package pm plans: it lays the tasks of a project out in time by the critical
// path method, says how far they are, and recommends who does them. It is
// arithmetic over documents: it reads no file and knows no clock.
package pm
