package acecode

import (
	"context"
)

func (s *server) consoles(context.Context) consoleHealth { return consoleHealth{} }

func (s *server) presets(context.Context) (map[string]string, error) { return nil, nil }

func (s *server) modelFor(_ context.Context, name, _ string) (string, error) {
	return name, checkModel(name)
}

func (s *server) skillRows(context.Context) ([]commandRow, error) { return []commandRow{}, nil }
