package workflow_test

import "encoding/json"

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
