package session

// Environments of providers, and of the supervisor and guard processes.

import (
	"os"
	"slices"
	"strings"

	"ac/workspace/doc"
)

// EnvironOf returns the provider's environment: the launching process's environment, the caller's
// variables over it, and the provider's defaults for live sessions.
func EnvironOf(order Order) []string {
	environ := slices.DeleteFunc(slices.Clone(order.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, over := order.Env[name]
		return over
	})
	for name, value := range order.Env {
		environ = append(environ, name+"="+value)
	}
	if order.Live != nil {
		for _, entry := range doc.ProviderNamed(order.Provider).LiveEnv {
			if name, _, _ := strings.Cut(entry, "="); EnvironValue(environ, name) == "" {
				environ = append(environ, entry)
			}
		}
	}
	return environ
}

// Environ returns the environment of a command: environ with the caller's variables over it.
func Environ(environ []string, over map[string]string) []string {
	return EnvironOf(Order{Environ: environ, Env: over})
}

// EnvironValue returns the value of a variable in an environment, "" for none.
func EnvironValue(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// SupervisorEnv returns the environment of the supervisor and guard: the location of the socket, and
// settings for coverage and race builds.
func SupervisorEnv() []string {
	env := []string{"GOTRACEBACK=single"}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMPDIR", "GOCOVERDIR", "GORACE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
