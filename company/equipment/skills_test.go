package equipment

// Which skills of a repository are read.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ac/internal/durable"
)

// putSkill writes a skill below a repository.
func putSkill(t *testing.T, root, name, text string) {
	t.Helper()
	dir := filepath.Join(root, ".claude", "skills", name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSkillsStayInside checks that links out of the repository are skipped, and that a link inside
// it is followed.
func TestSkillsStayInside(t *testing.T) {
	t.Parallel()
	root, away := t.TempDir(), t.TempDir()
	putSkill(t, root, "mine", "---\nname: mine\ndescription: Mine.\n---\n")
	putSkill(t, away, "theirs", "---\nname: theirs\n---\n")
	skills := filepath.Join(root, ".claude", "skills")
	theirs := filepath.Join(away, ".claude", "skills")
	if err := os.Mkdir(filepath.Join(skills, "file"), 0o750); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		filepath.Join(skills, "folder"):           filepath.Join(theirs, "theirs"),
		filepath.Join(skills, "file", "SKILL.md"): filepath.Join(theirs, "theirs", "SKILL.md"),
		filepath.Join(root, ".codex"):             filepath.Join(away, ".claude"),
		filepath.Join(skills, "alias"):            "mine",
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	found, err := skillsIn(root)
	if err != nil || len(found) != 1 || found[0].Name != "mine" || found[0].Description != "Mine." || found[0].Source != ".claude/skills/alias/SKILL.md" {
		t.Errorf("%+v %v", found, err)
	}
}

// TestSkillsAreFiles checks that anything but a regular file is skipped and does not block.
func TestSkillsAreFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	putSkill(t, root, "mine", "---\nname: mine\n---\n")
	for name, put := range map[string]func(string) error{
		"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"folder": func(name string) error { return os.Mkdir(name, 0o750) },
	} {
		dir := filepath.Join(root, ".claude/skills", name)
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(dir, "SKILL.md")); err != nil {
			t.Fatal(err)
		}
	}
	found, err := skillsIn(root)
	if err != nil || len(found) != 1 || found[0].Name != "mine" {
		t.Errorf("%+v %v", found, err)
	}
}

// TestSkillsAreBounded checks the limits: 200 skills per repository and 64 KiB per skill.
func TestSkillsAreBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range maxSkills + 1 {
		putSkill(t, root, fmt.Sprintf("s%03d", i), "")
	}
	found, err := skillsIn(root)
	if err != nil || len(found) != 200 || found[199].Name != "s199" {
		t.Errorf("%d skills: %v", len(found), err)
	}
	head := "---\nname: s000\n---\n"
	putSkill(t, root, "s000", head+strings.Repeat("x", 70<<10))
	fsys, err := durable.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	text, err := skillText(fsys, ".claude/skills/s000/SKILL.md")
	if err != nil || len(text) != 64<<10 || !strings.HasPrefix(text, head) {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
