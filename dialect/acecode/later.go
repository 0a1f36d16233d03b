package acecode

import (
	"context"
)

func (s *server) consoles(context.Context) consoleHealth { return consoleHealth{} }

func (s *server) skillRows(context.Context) ([]commandRow, error) { return []commandRow{}, nil }
