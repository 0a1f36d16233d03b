package feed

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"ac/workspace"
)

// watched receives the reports of WatchDocuments.
type watched struct{ told chan struct{} }

func (w *watched) changed() {
	select {
	case w.told <- struct{}{}:
	default:
	}
}

// expect makes a change and waits until it is reported.
func (w *watched) expect(t *testing.T, what string, change func() error) {
	t.Helper()
	for quiet := false; !quiet; { // drains the reports of the previous change
		select {
		case <-w.told:
		case <-time.After(20 * time.Millisecond):
			quiet = true
		}
	}
	if err := change(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.told:
	case <-time.After(30 * time.Second):
		t.Errorf("%s is not told", what)
	}
}

// TestWatchDocuments checks which changes are reported, by the system and by polling: files that
// appear, change and disappear, in folders that exist or appear later.
func TestWatchDocuments(t *testing.T) {
	t.Parallel()
	for name, linked := range map[string]bool{"watched": false, "looked at": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := makeWorkspace(t, filepath.Join(t.TempDir(), "ws"))
			at := func(name string) string { return filepath.Join(ws.Dir(), filepath.FromSlash(name)) }
			if err := os.MkdirAll(at(workspace.CommentsDir), 0o700); err != nil {
				t.Fatal(err)
			}
			folders := []string{workspace.CommentsDir, workspace.ArtifactsDir("p"), workspace.SessionsDir, workspace.ConversationsDir + "/*"}
			if linked { // such a folder cannot be watched
				if err := os.Symlink(at("company"), at("linked")); err != nil {
					t.Fatal(err)
				}
				folders = append(folders, "linked")
			}
			w := &watched{make(chan struct{}, 1)}
			stop := WatchDocuments(ws, folders, w.changed)
			comment := at(workspace.CommentsDir + "/c.yaml")
			w.expect(t, "a new file", func() error { return os.WriteFile(comment, []byte("1"), 0o600) })
			w.expect(t, "a change", func() error { return os.WriteFile(comment, []byte("22"), 0o600) })
			w.expect(t, "a file moved there", func() error {
				if err := os.WriteFile(at("moved"), nil, 0o600); err != nil {
					return err
				}
				return os.Rename(at("moved"), at(workspace.CommentsDir+"/m.yaml"))
			})
			w.expect(t, "a file that goes", func() error { return os.Remove(comment) })
			said := at(workspace.ConversationsDir + "/c/messages.jsonl")
			w.expect(t, "a folder among folders", func() error { return os.MkdirAll(filepath.Dir(said), 0o700) })
			w.expect(t, "a file in one of them", func() error { return os.WriteFile(said, []byte("1"), 0o600) })
			w.expect(t, "a change of it", func() error { return os.WriteFile(said, []byte("22"), 0o600) })
			w.expect(t, "one of them that goes", func() error { return os.RemoveAll(filepath.Dir(said)) })
			w.expect(t, "one that comes again, by another name", func() error {
				if err := os.MkdirAll(at(workspace.ConversationsDir+"/d"), 0o700); err != nil {
					return err
				}
				return os.Rename(at(workspace.ConversationsDir+"/d"), filepath.Dir(said))
			})
			w.expect(t, "a file in it", func() error { return os.WriteFile(said, []byte("1"), 0o600) })
			if linked {
				stop()
				return
			}
			w.expect(t, "a folder on the way", func() error { return os.MkdirAll(at(workspace.ArtifactsDir("p")), 0o700) })
			w.expect(t, "a file in a folder that came", func() error { return os.WriteFile(at(workspace.ArtifactsDir("p")+"/a.md"), nil, 0o600) })
			w.expect(t, "a folder that goes", func() error { return os.RemoveAll(at(workspace.ArtifactsDir("p"))) })
			w.expect(t, "a folder that comes again", func() error { return os.MkdirAll(at(workspace.ArtifactsDir("p")), 0o700) })
			w.expect(t, "a file in it", func() error { return os.WriteFile(at(workspace.ArtifactsDir("p")+"/a.md"), nil, 0o600) })
			stop()
		})
	}
}

// TestFoldersMadeAtOnce creates a folder, and another one in it while the watch of the first
// starts. A file in the inner one is reported, whichever came first.
func TestFoldersMadeAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := &watched{make(chan struct{}, 1)}
	stop := WatchDocuments(f.ws, []string{workspace.ConversationsDir + "/*"}, w.changed)
	defer stop()
	dir := filepath.Join(f.ws.Dir(), filepath.FromSlash(workspace.ConversationsDir))
	for i := range 100 {
		inner := filepath.Join(dir, "c")
		w.expect(t, "folders", func() error {
			err := os.Mkdir(dir, 0o700)
			for range i * 3000 {
				runtime.KeepAlive(i) // the inner one comes a little later each time
			}
			return errors.Join(err, os.Mkdir(inner, 0o700))
		})
		w.expect(t, "a file in the inner one", func() error { return os.WriteFile(filepath.Join(inner, "messages.jsonl"), []byte("1"), 0o600) })
		if t.Failed() {
			return
		}
		w.expect(t, "folders that go", func() error { return os.RemoveAll(dir) })
	}
}
