// Package natstest is a NATS server for tests. As in production, it runs as a separate process
// with a configuration file, which it reloads on SIGHUP. It logs reloads to stderr.
package natstest

import (
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Serve runs a server with a configuration file until SIGINT or SIGTERM. Once the server accepts
// connections, Serve writes its address to ready as one line.
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
