// Package answer knows the answers that workers of jobs are asked for: their JSON Schemas for
// CLIs that take one, examples for prompts, and where the values lie in what a worker printed.
// All of it is pure; package job decides which value is accepted.
package answer
