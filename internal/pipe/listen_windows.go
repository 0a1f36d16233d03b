package pipe

import (
	"context"
	"net"
)

// Listen makes a Unix socket that is removed when its listener closes.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "unix", path)
}
