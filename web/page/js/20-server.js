// Requests to the server: reads, calls and the two streams.

const boot = (() => {
  const el = document.getElementById('boot');
  try {
    return el ? JSON.parse(el.textContent) : {};
  } catch {
    return {};
  }
})();

// On a non-loopback address, every request needs the token from the page's own address.
const token = boot.token || new URLSearchParams(location.search).get('token');
const headers = (more) => (token ? { Authorization: 'Bearer ' + token, ...more } : { ...more });

class Refused extends Error {
  constructor(status, message, data, code) {
    super(message);
    this.status = status;
    this.data = data;
    this.reason = data && data.reason;
    this.code = code;
  }
}

async function answer(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  if (response.ok) return body;
  const fault = body && body.error;
  const message = typeof fault === 'string' ? fault : (fault && fault.message) || 'The server answered ' + response.status + '.';
  const issues = fault && Array.isArray(fault.data) ? fault.data : null;
  const detail = issues ? message + ': ' + issues.map((i) => (i.path || []).join('.') + ' ' + i.message).join('; ') : message;
  throw new Refused(response.status, detail, fault && fault.data, fault && fault.code);
}

async function reach(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, 'The server cannot be reached. Is ac ui:web still running?', { reason: 'unreachable' });
  }
  return response;
}

const read = async (path) => answer(await reach(path, { headers: headers() }));

const send = async (path, body) =>
  answer(await reach(path, { method: 'POST', headers: headers({ 'Content-Type': 'application/json' }), body: JSON.stringify(body) }));

const call = async (method, params) => (await send('/api/call', { method, params: params || {} })).result;

// follow reads a stream of server-sent events. When the stream breaks, it reconnects from the last
// id: after 0.5 s, 1 s, then every 2 s, and at once on request. It does not use EventSource: it
// needs the keepalive comments to detect a dead connection, and it must resume after a pause.
//
// It calls onstate with connecting, live, ended (the stream broke, the next attempt follows), lost
// (an attempt failed), absent (there is no such stream, and it stops).
const silenceLimit = 20000;
const retryWaits = [500, 1000, 2000];

function follow(path, { onframe, onstate, last = '' }) {
  let stopped = false;
  let control = null;
  let tries = 0;
  let heard = Date.now();
  let wake = () => {};

  const watch = setInterval(() => {
    if (control && Date.now() - heard > silenceLimit) control.abort();
  }, 1000);

  async function once() {
    control = new AbortController();
    heard = Date.now();
    const more = last ? { 'Last-Event-ID': last, Accept: 'text/event-stream' } : { Accept: 'text/event-stream' };
    const response = await reach(path, { headers: headers(more), signal: control.signal });
    if (!response.ok) await answer(response);
    tries = 0;
    onstate('live');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = frames((frame) => {
      if (frame.id) last = frame.id;
      onframe(frame);
    });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard = Date.now();
      parser(value);
    }
  }

  async function loop() {
    while (!stopped) {
      let reached = true;
      try {
        await once();
      } catch (error) {
        if (error.status === 404 && !stopped) {
          onstate('absent');
          return;
        }
        reached = tries === 0 && error.status === undefined; // the stream was live and broke
      }
      control = null;
      if (stopped) return;
      onstate(reached ? 'ended' : 'lost');
      await new Promise((done) => {
        wake = done;
        setTimeout(done, retryWaits[Math.min(tries++, retryWaits.length - 1)]);
      });
    }
  }
  onstate('connecting');
  loop();
  return {
    last: () => last,
    // again reconnects at once. It aborts a connection that was silent for over a second.
    again() {
      if (control && Date.now() - heard > 1000) control.abort();
      wake();
    },
    stop() {
      stopped = true;
      clearInterval(watch);
      if (control) control.abort();
      wake();
    },
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// frames parses chunks of text into frames of server-sent events.
function frames(onframe) {
  let rest = '';
  let frame = { event: 'message', data: '', id: '' };
  let has = false;
  return (piece) => {
    rest += piece;
    let from = 0;
    for (;;) {
      const end = rest.indexOf('\n', from);
      if (end < 0) break;
      const line = rest.charCodeAt(end - 1) === 13 ? rest.slice(from, end - 1) : rest.slice(from, end);
      from = end + 1;
      if (line === '') {
        if (has) onframe(frame);
        frame = { event: 'message', data: '', id: '' };
        has = false;
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
      if (name === 'data') {
        frame.data = has ? frame.data + '\n' + value : value;
        has = true;
      } else if (name === 'event') frame.event = value;
      else if (name === 'id') frame.id = value;
    }
    rest = rest.slice(from);
  };
}
