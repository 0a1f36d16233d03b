// The link to the server: the stream of rows of a visible tab, the one light stream that all hidden
// tabs share, and the lost state.

const rowsPath = '/api/rows?runs_limit=500';
const hideAfter = 10000;
const lostAfter = 1500;

let rowsStream = null;
let rowsLast = ''; // where this tab's stream resumes
let lostTimer = 0;
let hideTimer = 0;
let stopLight = null;
let holdsLight = false;

const wholeRows = new RowReader();
const lightRows = new RowReader({ light: true });

// setLink records the state of the link: whether the page shows the current state.
function setLink(link) {
  clearTimeout(lostTimer);
  lostTimer = 0;
  if (state.link === link) return;
  if (link === 'lost') {
    if (state.link === 'live' || !state.lostAt) state.lostAt = Date.now();
    announce('The connection is lost. What is shown is as it was then.', true);
  } else if (state.link === 'lost' && link === 'live') {
    announce('Connected again.');
  }
  state.link = link;
  document.documentElement.dataset.link = link;
  showIcon();
  changed();
}

// breaks is called when a stream ends. It reports a lost link only if no attempt succeeds in time.
function breaks() {
  if (state.link === 'lost' || lostTimer) return;
  lostTimer = setTimeout(() => setLink('lost'), lostAfter);
}

function readRows() {
  if (rowsStream) return;
  wholeRows.returning = store.ready && rowsLast !== '';
  rowsStream = follow(rowsPath, {
    last: rowsLast,
    onframe: (frame) => takeFrame(wholeRows, frame),
    onstate(link) {
      if (link === 'live') {
        setLink('live');
        stale('link/*'); // requests that failed meanwhile
      } else if (link === 'ended') {
        wholeRows.returning = true;
        breaks();
      } else if (link === 'lost') {
        wholeRows.returning = store.ready;
        setLink('lost');
      }
    },
  });
}

function stopRows() {
  if (!rowsStream) return;
  rowsLast = rowsStream.last() || rowsLast;
  rowsStream.stop();
  rowsStream = null;
}

function takeFrame(reader, frame) {
  const said = parse(frame.data);
  if (!said) return;
  if (frame.event === 'rows') {
    if (!reader.light && frame.id) store.epoch = frame.id.split('.')[0];
    reader.take(said);
  } else if (frame.event === 'error') {
    say(said.message || 'The rows cannot be read.', true);
  }
}

// tryNow reconnects at once: on request, when the tab becomes visible, or when the network returns.
function tryNow() {
  if (rowsStream) rowsStream.again();
}

// A browser allows six connections per origin, for all tabs together. A hidden tab gives up its
// stream after a while. The hidden tab that holds the lock reads the light stream and forwards it
// to the others.
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('ac-light') : null;

function readLight() {
  if (stopLight) return;
  const ended = new AbortController();
  stopLight = () => {
    ended.abort();
    stopLight = null;
  };
  const hold = () => new Promise((done) => {
    if (ended.signal.aborted) return done();
    holdsLight = true;
    const stream = follow('/api/rows?light=1', {
      onframe(frame) {
        takeFrame(lightRows, frame);
        if (channel) channel.postMessage({ frame });
      },
      onstate(link) {
        if (link === 'live') setLink('live');
        else if (link === 'lost') setLink('lost');
        if (channel && (link === 'live' || link === 'lost')) channel.postMessage({ link });
      },
    });
    ended.signal.addEventListener('abort', () => {
      holdsLight = false;
      stream.stop();
      done();
    });
  });
  if (navigator.locks) navigator.locks.request('ac-light-' + (boot.workspace || location.host), { signal: ended.signal }, hold).catch(() => {});
  else hold();
  if (channel) channel.postMessage({ joins: true });
}

// lightFrame returns what the lock holder sends to a joining tab.
const lightFrame = () => ({ rev: 0, at: store.at, full: true, more: false, set: lightTables.flatMap((table) => [...tableOf(table)].map(([key, row]) => [table, key, row])), del: [] });

if (channel) {
  channel.onmessage = ({ data }) => {
    if (!stopLight || !data) return; // a visible tab reads its own stream
    if (data.joins) {
      if (holdsLight) channel.postMessage({ link: state.link, frame: { event: 'rows', id: '', data: JSON.stringify(lightFrame()) } });
      return;
    }
    if (holdsLight) return;
    if (data.frame) takeFrame(lightRows, data.frame);
    if (data.link) setLink(data.link);
  };
}

function onVisibility() {
  clearTimeout(hideTimer);
  if (document.hidden) {
    hideTimer = setTimeout(() => {
      stopRows();
      dispatchEvent(new Event('ac:hidden')); // the streams of views end too
      readLight();
    }, hideAfter);
    return;
  }
  if (stopLight) stopLight();
  readRows();
  tryNow();
  dispatchEvent(new Event('ac:seen'));
  changed();
}

function watchLink() {
  document.addEventListener('visibilitychange', onVisibility);
  addEventListener('offline', () => {
    setLink('lost');
    tryNow();
  });
  addEventListener('online', tryNow);
  addEventListener('focus', () => state.link === 'lost' && tryNow());
  addEventListener('pagehide', () => {
    stopRows();
    if (stopLight) stopLight();
  });
  addEventListener('pageshow', (event) => event.persisted && onVisibility());
}

// The document contains at most this many runs. If it has fewer, they are all.
const firstRunsMost = 200;

// beginRows shows the rows in the document, and then follows them.
function beginRows() {
  document.documentElement.dataset.link = state.link;
  const first = boot.first;
  if (first && first.set) {
    store.epoch = first.epoch || '';
    wholeRows.take(first);
    const runs = first.set.filter(([table]) => table === 'runs').length;
    if (store.epoch && !first.more && runs < firstRunsMost) rowsLast = store.epoch + '.' + first.rev;
  }
  watchLink();
  readRows();
  if (document.hidden) onVisibility();
}
