package files

// The language of a file, by its name.

import (
	"path"
	"strings"
)

// Language returns the language of a file, "text" if its name does not reveal it.
func Language(name string) string {
	base := strings.ToLower(path.Base(name))
	switch base {
	case "dockerfile", "makefile", "jenkinsfile":
		return base
	case "cmakelists.txt":
		return "cmake"
	case "go.mod", "go.sum":
		return "go"
	}
	switch strings.TrimPrefix(path.Ext(base), ".") {
	case "go":
		return "go"
	case "py", "pyi":
		return "python"
	case "ts", "tsx", "mts", "cts":
		return "typescript"
	case "js", "jsx", "mjs", "cjs":
		return "javascript"
	case "rs":
		return "rust"
	case "java":
		return "java"
	case "kt", "kts":
		return "kotlin"
	case "c", "h":
		return "c"
	case "cc", "cpp", "cxx", "hh", "hpp":
		return "cpp"
	case "cs":
		return "csharp"
	case "rb":
		return "ruby"
	case "php":
		return "php"
	case "swift":
		return "swift"
	case "sh", "bash", "zsh":
		return "shell"
	case "sql":
		return "sql"
	case "html", "htm":
		return "html"
	case "css", "scss":
		return "css"
	case "json":
		return "json"
	case "yaml", "yml":
		return "yaml"
	case "toml":
		return "toml"
	case "xml":
		return "xml"
	case "md":
		return "markdown"
	case "lua":
		return "lua"
	case "el":
		return "elisp"
	}
	return "text"
}
