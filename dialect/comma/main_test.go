package comma

// TestMain lets the test binary act as runner, guard, a listener process, and the agents.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"ac/dialect"
	"ac/dialect/dialecttest"
)

func TestMain(m *testing.M) {
	dialecttest.Main(m, dialecttest.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, map[string]func() error{
		"printer": printBack, "speaker": func() error { return dialecttest.Speak(os.Stdin, os.Stdout) }, "claude": func() error { return dialecttest.Claude(os.Stdin, os.Stdout) },
	}, func(ctx context.Context, c *dialect.Company) (dialect.Listener, error) {
		return Listen(ctx, c, Options{ListenOptions: dialect.ListenOptions{Dialect: Name, Address: "127.0.0.1:0"}})
	})
}

// printBack acts as a command agent: it prints its prompt in brackets.
func printBack() error {
	text, err := io.ReadAll(os.Stdin)
	fmt.Printf("[%s]\n", strings.TrimSpace(string(text)))
	return err
}
