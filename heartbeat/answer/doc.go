// Package answer describes the answers of workers: their JSON Schemas for CLIs that accept one,
// examples for prompts, and how to find their values in a worker's output. It is pure: package job
// decides which value is accepted.
package answer
