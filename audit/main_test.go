package audit

import (
	"os"
	"testing"

	"ac/internal/runtimetest"
)

func TestMain(m *testing.M) {
	runtimetest.Overlap()
	runtimetest.InMemory()
	os.Exit(m.Run())
}
