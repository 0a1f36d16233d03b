package acecode

// TestMain lets the test binary act as supervisor, guard and agents.

import (
	"os"
	"testing"

	"ac/dialect/dialecttest"
)

func TestMain(m *testing.M) {
	dialecttest.Main(m, dialecttest.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, map[string]func() error{
		"speaker": func() error { return dialecttest.Speak(os.Stdin, os.Stdout) }, "claude": func() error { return dialecttest.Claude(os.Stdin, os.Stdout) },
	}, nil)
}

type object = map[string]any
