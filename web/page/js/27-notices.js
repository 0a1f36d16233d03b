// What calls a person: the title, the icon, notifications of the system, and the sentences
// that screen readers say.

// announce says a sentence to screen readers: at once when it is urgent, else at most one in
// five seconds, the newest.
const calmPace = 5000;
let calmTimer = 0;
let calmSaid = 0;
let calmNext = '';

function announce(sentenceOf, urgent) {
  if (urgent) {
    document.getElementById('say-now')?.replaceChildren(sentenceOf);
    return;
  }
  calmNext = sentenceOf;
  if (calmTimer) return;
  calmTimer = setTimeout(() => {
    calmTimer = 0;
    calmSaid = Date.now();
    document.getElementById('say-calm')?.replaceChildren(calmNext);
  }, Math.max(0, calmSaid + calmPace - Date.now()));
}

// ---- Title and icon, always

const callingSeverity = 3; // 0 to 3 call, 4 is to know

function needsCalling() {
  let n = 0;
  for (const row of tableOf('needs').values()) if (row.sev <= callingSeverity && inProject(row)) n++;
  return n;
}

const companyName = () => boot.company || 'AgentCompany';
const projectName = (id) => (id ? tableOf('projects').get(id)?.name || id : 'All projects');

function showTitle() {
  const n = needsCalling();
  const place = [viewName(), state.project && oneLine(projectName(state.project), 60), oneLine(companyName(), 60)];
  const title = (n ? '(' + n + ') ' : '') + place.filter(Boolean).join(' · ');
  if (document.title !== title) document.title = title;
}

let shownIcon = '';

function showIcon() {
  const n = needsCalling();
  const href = '/badge.svg?n=' + n + '&state=' + (state.link === 'lost' ? 'lost' : 'live');
  if (href === shownIcon) return;
  shownIcon = href;
  const link = document.querySelector('link[rel="icon"]');
  if (link) link.href = href;
}

// ---- Notifications of the system, for who chose them

const defaultKinds = ['permission', 'question', 'plan', 'input', 'help', 'milestone', 'run_failed'];
const burst = { within: 10000, most: 3 };
let notified = []; // when

const notifyKinds = () => {
  const kept = memory.get('notify.kinds');
  return kept === null ? defaultKinds : kept.split(',');
};
const notifies = () => memory.get('notify') === 'on' && 'Notification' in globalThis && Notification.permission === 'granted';

// noticeRows looks at what a frame changed: a need that is new calls, also one that came while
// the page had no stream, or another one. complete says that no frame of the same set follows;
// the needs of the first set are known.
const knownNeeds = new Set();
let knowsNeeds = false;

function noticeRows(changes, complete) {
  const fresh = [];
  for (const [table, key, gone] of changes) {
    if (table !== 'needs') continue;
    const row = tableOf('needs').get(key);
    if (row && !knownNeeds.has(key)) {
      knownNeeds.add(key);
      if (knowsNeeds) fresh.push([key, row]);
    } else if (!row) {
      knownNeeds.delete(key);
      closeNotification(key);
      if (gone && inProject(gone)) strikeGone(key, gone);
    }
  }
  knowsNeeds ||= complete;
  showTitle();
  showIcon();
  if (!fresh.length) return;
  const [, first] = fresh[0];
  announce(fresh.length === 1 ? 'New: ' + needWords(first) : fresh.length + ' new things need you.');
  for (const [key, row] of fresh) notify(key, row);
}

const needWords = (row) => (row.who ? oneLine(personName(row.who), 60) + ': ' : '') + oneLine(row.title);
const openNotifications = new Map();

function closeNotification(key) {
  openNotifications.get(key)?.close();
  openNotifications.delete(key);
}

// notify shows one need, while nobody looks at it: the tab is hidden, or shows another
// project. Of many at once only their number is shown.
function notify(key, row) {
  if (!notifies() || !notifyKinds().includes(row.kind) || (!document.hidden && inProject(row))) return;
  const now = Date.now();
  notified = notified.filter((at) => now - at < burst.within);
  notified.push(now);
  if (notified.length > burst.most) {
    for (const one of openNotifications.keys()) closeNotification(one);
    showNotification('ac-burst', notified.length + ' things need you', '', () => go('needs'));
    return;
  }
  const title = sentence(row.kind) + (row.who ? ' · ' + oneLine(personName(row.who), 60) : '');
  openNotifications.set(key, showNotification(key, title, oneLine(row.title), () => go('needs', key, '', { project: row.p })));
}

function showNotification(tag, title, body, open) {
  const shown = new Notification(title, { tag, body, icon: '/favicon.svg', silent: true });
  shown.onclick = () => {
    focus();
    open();
    shown.close();
  };
  return shown;
}
