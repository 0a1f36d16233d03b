package page

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func document(t *testing.T) (html, script, style string) {
	t.Helper()
	page, script, style, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	return string(page), script, style
}

// inside is the content of the elements of a name without attributes.
func inside(html, name string) (found []string) {
	for _, m := range regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(html, -1) {
		found = append(found, m[1])
	}
	return found
}

func TestDocumentIsTheSameAtEveryCall(t *testing.T) {
	t.Parallel()
	first, script, style := document(t)
	again, script2, style2 := document(t)
	if first != again || script != script2 || style != style2 {
		t.Error("two calls gave two documents")
	}
}

func TestHashesFitWhatIsInTheDocument(t *testing.T) {
	t.Parallel()
	html, script, style := document(t)
	for name, want := range map[string]string{"script": script, "style": style} {
		found := inside(html, name)
		if len(found) != 1 {
			t.Fatalf("%d elements %s instead of one", len(found), name)
		}
		if got := hash([]byte(found[0])); got != want {
			t.Errorf("the hash of %s is %s, and %s was told", name, got, want)
		}
	}
}

func TestDocumentHasOnePlaceForBoot(t *testing.T) {
	t.Parallel()
	html, _, _ := document(t)
	if strings.Count(html, Boot) != 1 {
		t.Errorf("%s is there %d times", Boot, strings.Count(html, Boot))
	}
	if strings.Index(html, Boot) > strings.Index(html, "<script>") {
		t.Error("the script would run before what it is told is there")
	}
}

func TestDocumentNeedsNothingElse(t *testing.T) {
	t.Parallel()
	html, _, _ := document(t)
	for what, pattern := range map[string]string{
		"an address of another host": `(?i)(https?:)?//[a-z0-9-]+(\.[a-z0-9-]+)+`,
		"an import":                  `(?m)@import|^\s*import\s|\bimport\(|url\((?:'|")?[^#'"]`,
		"an inline handler":          `(?i)<[a-z][^>]*\son[a-z]+\s*=`,
		"a style attribute":          `(?i)<[a-z][^>]*\sstyle\s*=`,
		"code made of text":          `\beval\(|new Function\(|innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write`,
		"a secret":                   `(?i)(sk-|ghp_|xox[bp]-|AKIA)[a-z0-9]{8}|BEGIN [A-Z ]*PRIVATE KEY`,
	} {
		for _, found := range regexp.MustCompile(pattern).FindAllString(html, -1) {
			if found == "import(" && strings.Count(html, found) == strings.Count(html, "import(vendoredSource(name))") {
				continue // a module that the server carries
			}
			if found == "//www.w3.org" || strings.HasPrefix(found, "http://www.w3.org") {
				continue // the name of a kind of element, which nothing fetches
			}
			t.Errorf("%s: %q", what, found)
		}
	}
}

func TestDocumentSaysWhatItIs(t *testing.T) {
	t.Parallel()
	html, _, _ := document(t)
	for _, text := range []string{
		"AgentCompany Manager Web", "Pending Approvals", "Run Monitor", "Recent Decisions",
		"/api/monitor/snapshot", "/api/inbox/snapshot", "/api/events", "/api/ui/resolve", "/api/comments", "agentcompany.select",
	} {
		if !strings.Contains(html, text) {
			t.Errorf("%q is missing", text)
		}
	}
}

func TestDocumentIsSmall(t *testing.T) {
	t.Parallel()
	html, _, _ := document(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(html)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d compressed", len(html), packed.Len())
	if packed.Len() >= 150_000 {
		t.Errorf("%d bytes compressed", packed.Len())
	}
}

func TestIconIsAPicture(t *testing.T) {
	t.Parallel()
	icon, err := Icon()
	if err != nil || !bytes.HasPrefix(icon, []byte("<svg ")) {
		t.Errorf("%.20q, %v", icon, err)
	}
}

func TestJoinRefusesWhatWouldNotSurvive(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"the end of the element": "a = '</SCRIPT >'",
		"a comment of HTML":      "a = '<!--'",
		"a carriage return":      "a\r\nb",
		"a zero byte":            "a\x00b",
	} {
		if _, err := join(fstest.MapFS{"js/a.js": {Data: []byte(source)}}, "js", "</script"); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	got, err := join(fstest.MapFS{"js/b.js": {Data: []byte("b\n")}, "js/a.js": {Data: []byte(" a")}}, "js", "</script")
	if want := "/* js/a.js */\na\n/* js/b.js */\nb\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFillNeedsItsPlace(t *testing.T) {
	t.Parallel()
	if _, err := fill([]byte("<p>"), stylePlace, nil); err == nil {
		t.Error("a document without a place was filled")
	}
}

// TestTopLevelNamesAreUnique: the files share one scope, in which a name that is declared
// twice stops the whole script.
func TestTopLevelNamesAreUnique(t *testing.T) {
	t.Parallel()
	files, err := sources.ReadDir("js")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{}
	for _, file := range files {
		text, err := sources.ReadFile("js/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^(?:async )?(?:function|const|let|class) (\w+)`).FindAllSubmatch(text, -1) {
			name := string(found[1])
			if before := declared[name]; before != "" {
				t.Errorf("%s is declared in %s and in %s", name, before, file.Name())
			}
			declared[name] = file.Name()
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxFileLines {
			t.Errorf("%s has %d lines", file.Name(), lines)
		}
	}
}

// maxFileLines bounds a source of the page.
const maxFileLines = 300
