//go:build browser

package browser

// A headless Chromium, driven through a pair of pipes by the DevTools protocol: JSON messages, each
// terminated by a zero byte. It opens no port.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout of each wait.
const patience = 30 * time.Second

type chromium struct {
	cmd   *exec.Cmd
	to    io.WriteCloser
	gone  chan struct{}
	mu    sync.Mutex
	next  int
	calls map[int]chan reply
	tabs  map[string]*tab
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type tab struct {
	t       *testing.T
	c       *chromium
	session string
	context string
	mu      sync.Mutex
	faults  []string
	bytes   map[string]int64 // received since Network was enabled, by request
}

// launch starts a browser with its own profile. The browser and its children end with the test.
func launch(t *testing.T) *chromium {
	t.Helper()
	profile, err := os.MkdirTemp("", "ac-browser-") //nolint:usetesting // the browser may write there for a moment after its end
	if err != nil {
		t.Fatal(err)
	}
	name := cmp.Or(os.Getenv("AC_CHROMIUM"), "chromium")
	fromUs, toIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromIt, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--enable-precise-memory-info", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (the tests of the page need a Chromium; AC_CHROMIUM names it)", err)
	}
	fromUs.Close()
	toUs.Close()
	c := &chromium{cmd: cmd, to: toIt, gone: make(chan struct{}), calls: map[int]chan reply{}, tabs: map[string]*tab{}}
	go c.listen(fromIt)
	t.Cleanup(func() {
		toIt.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		<-c.gone
		fromIt.Close()
		for range 50 {
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return c
}

func (c *chromium) listen(from io.Reader) {
	defer close(c.gone)
	for r := bufio.NewReaderSize(from, 1<<20); ; {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID      int             `json:"id"`
			Method  string          `json:"method"`
			Session string          `json:"sessionId"`
			Params  json.RawMessage `json:"params"`
			reply
		}
		if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) != nil {
			continue
		}
		c.mu.Lock()
		waiting, tab := c.calls[m.ID], c.tabs[m.Session]
		delete(c.calls, m.ID)
		c.mu.Unlock()
		switch {
		case waiting != nil:
			waiting <- m.reply
		case tab != nil && (m.Method == "Network.dataReceived" || m.Method == "Network.loadingFinished"):
			tab.count(m.Method, m.Params)
		case tab != nil && (m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded"):
			tab.mu.Lock()
			tab.faults = append(tab.faults, string(m.Params))
			tab.mu.Unlock()
		}
	}
}

func (c *chromium) call(t *testing.T, session, method string, params any, result any) {
	t.Helper()
	c.mu.Lock()
	c.next++
	id, answer := c.next, make(chan reply, 1)
	c.calls[id] = answer
	c.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	line, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	_, err = c.to.Write(append(line, 0))
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	select {
	case got := <-answer:
		if got.Error != nil {
			t.Fatalf("%s: %s", method, got.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(got.Result, result); err != nil {
				t.Fatal(err)
			}
		}
	case <-c.gone:
		t.Fatalf("%s: the browser is gone", method)
	case <-ctx.Done():
		t.Fatalf("%s: no answer", method)
	}
}

// open opens a tab with its own storage. Errors in its console fail the test at its end.
func (c *chromium) open(t *testing.T, width, height int, dark bool) *tab {
	t.Helper()
	var made struct{ BrowserContextID string }
	c.call(t, "", "Target.createBrowserContext", struct{}{}, &made)
	tab := c.tabOf(t, made.BrowserContextID, map[string]any{"width": width, "height": height})
	tab.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	tab.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	return tab
}

// tabOf opens a tab in an existing browser context.
func (c *chromium) tabOf(t *testing.T, storage string, target map[string]any) *tab {
	t.Helper()
	var made struct{ TargetID, SessionID string }
	target["url"], target["browserContextId"] = "about:blank", storage
	c.call(t, "", "Target.createTarget", target, &made)
	c.call(t, "", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	tab := &tab{t: t, c: c, session: made.SessionID, context: storage}
	c.mu.Lock()
	c.tabs[made.SessionID] = tab
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Performance"} {
		tab.do(domain+".enable", struct{}{}, nil)
	}
	t.Cleanup(func() {
		tab.mu.Lock()
		faults := tab.faults
		tab.mu.Unlock()
		for _, fault := range faults {
			t.Errorf("the page complains: %s", fault)
		}
	})
	return tab
}

func (p *tab) do(method string, params, result any) {
	p.t.Helper()
	p.c.call(p.t, p.session, method, params, result)
}

// goTo opens an address and waits until the page has drawn something.
func (p *tab) goTo(url string) {
	p.t.Helper()
	p.do("Page.navigate", map[string]any{"url": url}, nil)
	p.until(`document.readyState === 'complete' && !!document.querySelector('main h1')`)
}

// eval evaluates an expression in the page, awaits its promise, and stores the value in into.
func (p *tab) eval(expression string, into any) {
	p.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s %s", expression, got.ExceptionDetails.Text, got.ExceptionDetails.Exception.Description)
	}
	if into != nil {
		if err := json.Unmarshal(got.Result.Value, into); err != nil {
			p.t.Fatalf("%s: %v: %s", expression, err, got.Result.Value)
		}
	}
}

func (p *tab) holds(condition string) (yes bool) {
	p.t.Helper()
	p.eval("!!("+condition+")", &yes)
	return yes
}

// until waits until a condition holds in the page.
func (p *tab) until(condition string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(15 * time.Millisecond) {
		if p.holds(condition) {
			return
		}
		if time.Now().After(end) {
			var shown string
			p.eval("document.body.innerText.slice(0, 3000)", &shown)
			p.t.Fatalf("never true: %s\nthe page shows:\n%s", condition, shown)
		}
	}
}

// shows waits until an element that matches selector contains text.
func (p *tab) shows(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text))
}

// click waits for an element that matches selector and contains text, and clicks the first.
func (p *tab) click(selector, text string) {
	p.t.Helper()
	p.shows(selector, text)
	p.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q)).click()`, selector, text), nil)
}

// key presses and releases a key. modifiers has the protocol's bits (2 is Ctrl).
func (p *tab) key(key string, modifiers int) {
	p.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key, "modifiers": modifiers}
	if len(key) == 1 && modifiers == 0 {
		params["text"] = key
	}
	if key == "Enter" {
		params["windowsVirtualKeyCode"] = 13
	}
	p.do("Input.dispatchKeyEvent", params, nil)
	params["type"] = "keyUp"
	delete(params, "text")
	p.do("Input.dispatchKeyEvent", params, nil)
}

func (p *tab) write(text string) {
	p.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text}, nil)
}

func (p *tab) picture() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return picture
}

// heap returns the bytes of live objects of the page, after a garbage collection.
func (p *tab) heap() float64 {
	p.t.Helper()
	p.do("HeapProfiler.collectGarbage", struct{}{}, nil)
	return p.metric("JSHeapUsedSize")
}

// metric returns a performance metric of the page.
func (p *tab) metric(name string) float64 {
	p.t.Helper()
	var got struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.do("Performance.getMetrics", struct{}{}, &got)
	for _, m := range got.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	p.t.Fatalf("the browser does not report %s", name)
	return 0
}

// complaint reports whether the page's console has an error containing text, and removes the first
// such error.
func (p *tab) complaint(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, fault := range p.faults {
		if strings.Contains(fault, text) {
			p.faults = append(p.faults[:i], p.faults[i+1:]...)
			return true
		}
	}
	return false
}

// sibling opens another tab with the same storage and locks.
func (p *tab) sibling() *tab {
	p.t.Helper()
	return p.c.tabOf(p.t, p.context, map[string]any{})
}

// hide makes the page believe that it is hidden. From then on it counts the page's open streams in
// acStreams, and sets acHidden once the page has closed its own stream.
func (p *tab) hide() {
	p.t.Helper()
	p.eval(`(() => {
		window.acStreams = 0;
		const real = window.fetch;
		window.fetch = async (...args) => {
			const stream = String(args[0]).includes('/api/rows');
			if (stream) {
				window.acStreams++;
				args[1]?.signal?.addEventListener('abort', () => window.acStreams--);
			}
			return real(...args);
		};
		addEventListener('ac:hidden', () => { window.acHidden = true; });
		Object.defineProperty(document, 'hidden', { get: () => true, configurable: true });
		document.dispatchEvent(new Event('visibilitychange'));
	})()`, nil)
}

// allow ignores console errors that contain text, for a test that causes them.
func (p *tab) allow(text string) {
	p.t.Cleanup(func() {
		for p.complaint(text) {
		}
	})
}

// count adds up the bytes that the browser reports for a request: chunks during the request, and
// the total with headers at its end.
func (p *tab) count(method string, params json.RawMessage) {
	var got struct {
		RequestID         string
		EncodedDataLength float64
	}
	if json.Unmarshal(params, &got) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes == nil {
		p.bytes = map[string]int64{}
	}
	if method == "Network.dataReceived" {
		p.bytes[got.RequestID] += int64(got.EncodedDataLength)
	} else {
		p.bytes[got.RequestID] = max(p.bytes[got.RequestID], int64(got.EncodedDataLength))
	}
}

func readFile(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}
