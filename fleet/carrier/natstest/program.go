// Package natstest is a NATS server for tests, as its operators run one: a process of its
// own with a file of configuration, which it reads again on SIGHUP, and says so on stderr.
package natstest

import (
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Serve runs the server of a configuration until SIGINT or SIGTERM. It writes its address,
// in a line, to ready once it can be connected to.
func Serve(config string, ready io.Writer) error {
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		return fmt.Errorf("the server of %s does not listen", config)
	}
	if _, err := fmt.Fprintln(ready, s.Addr()); err != nil {
		return err
	}
	s.WaitForShutdown()
	return nil
}
