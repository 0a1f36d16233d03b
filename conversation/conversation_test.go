package conversation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// Variables that make the test binary a process that writes concurrently with others.
const (
	asWriter = "CONVERSATION_TEST_WRITER"
	asPeer   = "CONVERSATION_TEST_PEER"
)

func TestMain(m *testing.M) {
	switch dir := os.Getenv(asWriter); {
	case dir != "":
		exit(write(dir, os.Getenv("NAME")))
	case os.Getenv(asPeer) != "":
		exit(talk(os.Getenv(asPeer), os.Getenv("NAME")))
	}
	goleak.VerifyTestMain(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const each = 40

func write(dir, name string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	for i := range each {
		if _, _, err := Send(context.Background(), w, Space{}, workspace.HomeID, says(fmt.Sprint(name, " ", i))); err != nil {
			return err
		}
	}
	return w.Close()
}

// talk opens the conversation of two participants from one side and prints its ID.
func talk(dir, name string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	by, peer := "human_ceo", "agent_w"
	if strings.HasSuffix(name, "1") {
		by, peer = peer, by
	}
	c, err := CreateDM(context.Background(), w, Space{}, by, peer, "private_agent")
	fmt.Println(c.ID)
	return errors.Join(err, w.Close())
}

func says(body string) Draft {
	return Draft{AuthorID: "human_ceo", AuthorRole: "ceo", Kind: "text", Body: body}
}

func newWorkspace(t testing.TB) *workspace.Workspace {
	t.Helper()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	if err := w.EnsureDefaults(context.Background()); err != nil {
		t.Fatal(err)
	}
	return w
}

func home(w *workspace.Workspace) string {
	return filepath.Join(w.Dir(), filepath.FromSlash(workspace.HomeDir), workspace.MessagesFile)
}

// start runs processes of this binary in parallel and returns what each printed.
func start(t *testing.T, role, dir string, count int) (outputs []string) {
	t.Helper()
	var wg sync.WaitGroup
	outputs = make([]string, count)
	for i := range count {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"="+dir, fmt.Sprint("NAME=writer", i%2))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
			outputs[i] = strings.TrimSpace(string(out))
		})
	}
	wg.Wait()
	return outputs
}

// TestWriters lets processes and goroutines write concurrently. The log must contain every
// message, each on its own line.
func TestWriters(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	var wg sync.WaitGroup
	wg.Go(func() { start(t, asWriter, w.Dir(), 3) })
	for g := range 4 {
		wg.Go(func() {
			for i := range each {
				if _, _, err := Send(context.Background(), w, Space{}, workspace.HomeID, says(fmt.Sprint("goroutine ", g, " ", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	file, err := os.Open(home(w))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		m, err := doc.DecodeMessage(lines.Bytes())
		if err != nil {
			t.Errorf("%q: %v", lines.Text(), err)
		}
		if seen[m.ID]++; seen[m.ID] > 1 {
			t.Errorf("message %s is there %d times", m.ID, seen[m.ID])
		}
	}
	if len(seen) != 7*each {
		t.Errorf("%d messages of %d", len(seen), 7*each)
	}
}

// TestOneDM opens a DM from both sides in several processes. All must get the same one.
func TestOneDM(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	ids := start(t, asPeer, w.Dir(), 6)
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 || ids[0] == "" {
		t.Errorf("conversations: %v", ids)
	}
	all, err := List(w, Space{})
	if err != nil || len(all) != 2 {
		t.Errorf("%d conversations (%v)", len(all), err)
	}
}

// TestTornLog appends after a torn line, and reads past lines that are no messages of the
// conversation.
func TestTornLog(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	ctx := context.Background()
	first := sent(t, w, "first")
	line, err := first.Line()
	if err != nil {
		t.Fatal(err)
	}
	junk := "\n\n[]\n{\"a\":1}\nnull\n" + strings.Replace(string(line), `"body"`, `"unknown":1,"body"`, 1) +
		strings.Replace(string(line), workspace.HomeID, "conv_other", 1) + string(line[:len(line)/2])
	appendTo(t, home(w), junk)
	second := sent(t, w, "second")
	got, err := Newest(w, Space{}, workspace.HomeID, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{first.ID, second.ID}, idsOf(got)); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(home(w)); err != nil {
		t.Fatal(err)
	}
	if got, err := Newest(w, Space{}, workspace.HomeID, 10); err != nil || len(got) != 0 {
		t.Errorf("without a log: %v (%v)", got, err)
	}
	third := sent(t, w, "third")
	if got, err := Newest(w, Space{}, workspace.HomeID, 10); err != nil || len(got) != 1 || got[0].ID != third.ID {
		t.Errorf("a log made anew: %v (%v)", got, err)
	}
	if _, _, err := Send(ctx, w, Space{}, "conv_none", says("x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a conversation that is not there: %v", err)
	}
}

// TestMessageWithoutProject checks that a message that names no project, as other programs write
// it, belongs to the conversation whose log contains it. A message of another project does not.
func TestMessageWithoutProject(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	project, err := w.CreateProjectWithDefaults(t.Context(), "P", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	in := Space{project.ID}
	all, err := List(w, in)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d conversations (%v)", len(all), err)
	}
	_, first, err := Send(t.Context(), w, in, all[0].ID, says("first"))
	if err != nil {
		t.Fatal(err)
	}
	without, other := first, first
	without.ID, without.ProjectID = "msg_without", ""
	other.ID, other.ProjectID = "msg_other", "proj_other"
	for _, m := range []doc.Message{without, other} {
		line, err := m.Line()
		if err != nil {
			t.Fatal(err)
		}
		appendTo(t, filepath.Join(w.Dir(), filepath.FromSlash(in.messages(all[0].ID))), string(line))
	}
	got, err := Newest(w, in, all[0].ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{first.ID, without.ID}, idsOf(got)); diff != "" {
		t.Error(diff)
	}
}

func sent(t *testing.T, w *workspace.Workspace, body string) doc.Message {
	t.Helper()
	_, m, err := Send(context.Background(), w, Space{}, workspace.HomeID, says(body))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func idsOf(messages []doc.Message) (ids []string) {
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// TestNewest reads the end of a log whose lines cross the borders of the blocks that are
// read. Neighboring messages are out of order in time, and one line is too long.
func TestNewest(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	var log strings.Builder
	const count = 1500
	for i := range count {
		m := doc.Message{
			SchemaVersion: 1, Type: "message", ID: fmt.Sprintf("msg_%04d", i), ConversationID: workspace.HomeID,
			CreatedAt: time.Date(2026, 1, 1, 0, i^1, 0, 0, time.UTC).Format(time.RFC3339), AuthorID: "a", AuthorRole: "human",
			Kind: "text", Visibility: "org", Body: strings.Repeat("é", 1+i*7%900), Mentions: []string{},
		}
		line, err := m.Line()
		if err != nil {
			t.Fatal(err)
		}
		log.Write(line)
		if i == count-20 {
			log.WriteString(strings.Repeat("x", longestLine+3*block) + "\n")
		}
	}
	appendTo(t, home(w), log.String())
	for _, limit := range []int{1, 2, 3, 100, 1000, count, 5000} {
		got, err := Newest(w, Space{}, workspace.HomeID, limit)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := max(0, count-limit); i < count; i++ {
			want = append(want, fmt.Sprintf("msg_%04d", i^1))
		}
		if diff := cmp.Diff(want, idsOf(got)); diff != "" {
			t.Errorf("the newest %d: %s", limit, diff)
		}
	}
}

// TestPlaces puts documents where they do not belong. None of them is listed, and no
// message can be sent there.
func TestPlaces(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	ctx := context.Background()
	project, err := w.CreateProjectWithDefaults(ctx, "P", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	channel, err := CreateChannel(ctx, w, Space{}, Channel{Name: "c", Slug: "c", Visibility: "org", CreatedBy: "human_ceo"})
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(w.Dir(), filepath.FromSlash(Space{}.Dir(channel.ID)))
	for _, to := range []string{
		Space{}.Dir("conv_copy"), Space{project.ID}.Dir(channel.ID), workspace.ConversationsDir + "/" + workspace.HomeID,
	} {
		if err := os.CopyFS(filepath.Join(w.Dir(), filepath.FromSlash(to)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(from, filepath.Join(w.Dir(), filepath.FromSlash(Space{}.Dir("conv_link")))); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[Space]int{{}: 2, {project.ID}: 2} {
		if all, err := List(w, place); err != nil || len(all) != want {
			t.Errorf("%v: %d conversations (%v)", place, len(all), err)
		}
	}
	for _, id := range []string{"conv_copy", "conv_link"} {
		if _, _, err := Send(ctx, w, Space{}, id, says("x")); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, _, err := Send(ctx, w, Space{project.ID}, channel.ID, says("x")); !fault.Is(err, fault.NotFound) {
		t.Errorf("in a project: %v", err)
	}
}

func TestAdmits(t *testing.T) {
	t.Parallel()
	c := doc.Conversation{CreatedBy: "maker", Participants: doc.Participants{AgentIDs: []string{"in"}, TeamIDs: []string{"team"}}}
	for visibility, want := range map[string]string{
		"org":           "human ceo director manager worker in maker mate ",
		"managers":      "human ceo director manager in maker mate ",
		"team":          "human ceo in maker mate ",
		"private_agent": "human ceo in maker mate ",
	} {
		c.Visibility = visibility
		got := ""
		for _, a := range []Actor{
			{"x", "human", ""}, {"x", "ceo", ""}, {"x", "director", ""}, {"x", "manager", "other"}, {"x", "worker", ""}, {"in", "worker", ""},
			{"maker", "worker", ""}, {"x", "worker", "team"},
		} {
			if Admits(c, a) {
				switch {
				case a.ID != "x":
					got += a.ID + " "
				case a.Team == "team":
					got += "mate "
				default:
					got += a.Role + " "
				}
			}
		}
		if got != want {
			t.Errorf("%s admits %q, not %q", visibility, got, want)
		}
	}
}

// TestFollow gets existing messages first and then new ones, in the order of the log,
// even after a torn line and a replacement of the log.
func TestFollow(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for i := range 3 {
		sent(t, w, fmt.Sprint("before ", i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got := make(chan string)
	ended := make(chan error, 1)
	go func() {
		ended <- Follow(ctx, w, Space{}, workspace.HomeID, 2, func(m doc.Message) error {
			select {
			case got <- m.Body:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	next := func(want string) {
		t.Helper()
		select {
		case body := <-got:
			if body != want {
				t.Fatalf("%q instead of %q", body, want)
			}
		case <-ctx.Done():
			t.Fatalf("%q never came", want)
		}
	}
	next("before 1")
	next("before 2")
	sent(t, w, "after")
	next("after")
	appendTo(t, home(w), "torn")
	sent(t, w, "behind a torn line")
	next("behind a torn line")
	if err := os.Remove(home(w)); err != nil {
		t.Fatal(err)
	}
	sent(t, w, "anew")
	next("anew")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := Follow(context.Background(), w, Space{}, "conv_none", 1, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a conversation that is not there: %v", err)
	}
}
