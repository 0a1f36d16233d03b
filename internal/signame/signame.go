// Package signame knows the names of signals.
package signame
