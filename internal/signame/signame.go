// Package signame returns the names of signals.
package signame
