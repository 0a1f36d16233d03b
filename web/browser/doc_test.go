//go:build browser

// Package browser tests the page of the control room in a real browser.
package browser
