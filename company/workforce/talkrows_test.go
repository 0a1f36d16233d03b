package workforce

import (
	"testing"

	"ac/workspace/doc"
)

// TestUnread checks that the messages of others after the last read one count as unread. If that
// message is gone, all count.
func TestUnread(t *testing.T) {
	t.Parallel()
	messages := []doc.Message{
		{ID: "1", AuthorID: "ann", CreatedAt: "t1"}, {ID: "2", AuthorID: "me", CreatedAt: "t2"}, {ID: "3", AuthorID: "bob", CreatedAt: "t3"},
	}
	for last, want := range map[string]int{"": 2, "1": 1, "2": 1, "3": 0, "gone": 2} {
		var r TalkRow
		if r.count(messages, "me", last); r.Unread != want || r.LastAt == nil || *r.LastAt != "t3" || *r.LastBy != "bob" {
			t.Errorf("after %q: %+v, want %d", last, r, want)
		}
	}
	var r TalkRow
	if r.count(nil, "me", "1"); r.Unread != 0 || r.LastAt != nil || r.LastBy != nil {
		t.Errorf("without messages: %+v", r)
	}
}
