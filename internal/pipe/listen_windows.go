package pipe

import (
	"context"
	"net"
)

// Listen listens on a Unix socket that is removed when the listener closes.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}
