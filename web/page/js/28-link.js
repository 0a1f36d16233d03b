// The link to the server: the stream of rows while the tab is seen, one light stream of all
// hidden tabs, and what is shown while there is none.

const rowsPath = '/api/rows?runs_limit=500';
const hideAfter = 10000;
const lostAfter = 1500;

let rowsStream = null;
let rowsLast = ''; // where the stream of this tab goes on
let lostTimer = 0;
let hideTimer = 0;
let stopLight = null;
let holdsLight = false;

const wholeRows = new RowReader();
const lightRows = new RowReader({ light: true });

// setLink records whether what is shown is what is so.
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

// breaks is called when a stream ended: a server that is there answers the next try.
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
        stale('link/*'); // what was asked for while there was no answer
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

// tryNow is a person's wish, a visit, or the system's word that there is a network again.
function tryNow() {
  if (rowsStream) rowsStream.again();
}

// A browser allows one origin six connections for all its tabs. A hidden tab gives its own
// back after a while; of all hidden tabs, the one that holds the lock reads the light stream
// and tells the others.
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

// lightFrame is what the holder tells a tab that joins.
const lightFrame = () => ({ rev: 0, at: store.at, full: true, more: false, set: lightTables.flatMap((table) => [...tableOf(table)].map(([key, row]) => [table, key, row])), del: [] });

if (channel) {
  channel.onmessage = ({ data }) => {
    if (!stopLight || !data) return; // it is seen and reads for itself
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
      dispatchEvent(new Event('ac:hidden')); // streams of views end, too
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

// The rows in the document have at most so many runs: with fewer they are all of them.
const firstRunsMost = 200;

// beginRows shows the rows that came with the document, and follows them.
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
