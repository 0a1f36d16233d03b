package session

// Environments of providers, and of the processes that keep them.

import (
	"os"
	"slices"
	"strings"

	"ac/workspace/doc"
)

// EnvironOf is the environment of the provider: what the launching process had,
// with what the caller added over it, and what its provider needs to be judged.
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

// Environ is the environment of a command that a process launches with what its caller
// added.
func Environ(environ []string, over map[string]string) []string {
	return EnvironOf(Order{Environ: environ, Env: over})
}

// EnvironValue is the value of a variable in an environment, "" for none.
func EnvironValue(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// KeeperEnv is what the processes of a session themselves need: where its socket
// lies, and what programs built for coverage or races are told.
func KeeperEnv() []string {
	env := []string{"GOTRACEBACK=single"}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMPDIR", "GOCOVERDIR", "GORACE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
