// Notices: the title, the icon, system notifications, and announcements for screen readers.

// announce reads a sentence to screen readers: at once if urgent, else the newest one at most every
// five seconds.
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

// ---- Title and icon (always on)

const callingSeverity = 3; // 0 to 3 call for attention, 4 only informs

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

// ---- System notifications (opt-in)

const defaultKinds = ['permission', 'question', 'plan', 'input', 'help', 'milestone', 'run_failed'];
const burst = { within: 10000, most: 3 };
let notified = []; // times

const notifyKinds = () => {
  const kept = memory.get('notify.kinds');
  return kept === null ? defaultKinds : kept.split(',');
};
const notifies = () => memory.get('notify') === 'on' && 'Notification' in globalThis && Notification.permission === 'granted';

// noticeRows finds new needs in the changes of a frame, including those that arrived while the page
// had no stream or changed streams. complete means that no frame of the same set follows. The needs
// of the first set are not new.
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

// notify shows a need while the tab is hidden or shows another project. For many at once it shows
// only their number.
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
