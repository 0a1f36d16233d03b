// Clocks: elements that show elapsed or remaining time. One timer updates the visible ones each
// second, outside the differ and without a change to rows.
//
//   since(at, form)   an element with data-since. at is an instant (text or ms)
//
// Forms: elapsed (12:04), ago (2 h ago), left (4:12 left), quiet (quiet for 3:20, shown once it
// exceeds the server's limit).

const quietAfter = boot.quiet_after_ms || 60000;
const clockElements = new Set();
const clocksInView = new Set();

const watchClocks = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) {
      clocksInView.add(target);
      showClock(target);
    } else clocksInView.delete(target);
  }
});

// serverNow is the current time on the server's clock, which also sets the times in rows.
const serverNow = () => Date.now() + store.offset;

const clockForms = {
  elapsed: (ms) => duration(ms),
  ago: (ms) => agoWords(ms),
  left: (ms) => (ms < 0 ? duration(-ms) + ' left' : 'time is up'),
  quiet: (ms) => (ms > quietAfter ? 'quiet for ' + duration(ms) : ''),
};

function showClock(el) {
  const at = +el.dataset.since;
  const text = Number.isFinite(at) ? clockForms[el.dataset.form](serverNow() - at) : none;
  if (el.textContent !== text) el.textContent = text;
  if (el.dataset.form === 'quiet') el.toggleAttribute('data-quiet', text !== '');
  if (el.dataset.form === 'left') warnDeadline(el, at - serverNow());
}

// Each deadline is announced once, in its last minute.
const announced = new Set();

function warnDeadline(el, left) {
  el.classList.toggle('warn', left < 60000);
  const name = el.dataset.deadline;
  if (!name || left >= 60000 || left <= 0 || announced.has(name)) return;
  announced.add(name);
  announce('Less than a minute is left to answer.', true);
}

// showClocks forgets removed elements, and updates those whose start time the draw changed.
function showClocks() {
  for (const el of clockElements) {
    if (el.isConnected) {
      if (el.acSince !== el.dataset.since) {
        el.acSince = el.dataset.since;
        showClock(el);
      }
      continue;
    }
    clockElements.delete(el);
    clocksInView.delete(el);
    watchClocks.unobserve(el);
  }
}

setInterval(() => {
  if (document.hidden || state.link === 'lost') return;
  for (const el of clocksInView) showClock(el);
}, 1000);

function since(at, form, props) {
  const ms = typeof at === 'number' ? at : instant(at);
  if (!Number.isFinite(ms)) return h('span', props, none);
  return h('time', {
    'data-since': ms, 'data-form': form, title: moment(new Date(ms).toISOString()), ...props,
    mounted: (el) => {
      clockElements.add(el);
      el.acSince = el.dataset.since;
      showClock(el);
      watchClocks.observe(el);
    },
  });
}

const agoSince = (at, props) => since(at, 'ago', props);
