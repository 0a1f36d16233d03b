// Figures, times and ids for people. Unknown values are a dash, never a zero.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const none = '–';

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const count = (value) => (known(value) ? whole.format(value) : none);
const compact = (value) => (known(value) ? (value < 10000 ? whole.format(value) : short.format(value)) : none);

function money(value) {
  if (!known(value)) return none;
  const digits = value !== 0 && Math.abs(value) < 1 ? 4 : 2;
  return '$' + value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: digits });
}

function percent(value) {
  return known(value) ? value.toLocaleString('en', { maximumFractionDigits: 1 }) + ' %' : none;
}

// duration formats milliseconds.
function duration(ms) {
  if (!known(ms)) return none;
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  if (s < 3600) return Math.floor(s / 60) + ':' + two(s % 60);
  if (s < 86400) return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
  return Math.floor(s / 86400) + ' d ' + Math.floor((s % 86400) / 3600) + ' h';
}

const instant = (text) => (text ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : text + 'Z') : NaN);

function agoWords(ms, at = Date.now() - ms) {
  const s = Math.round(ms / 1000);
  if (s < 5) return 'now';
  if (s < 60) return s + ' s ago';
  if (s < 3600) return Math.floor(s / 60) + ' min ago';
  if (s < 86400) return Math.floor(s / 3600) + ' h ago';
  if (s < 86400 * 30) return Math.floor(s / 86400) + ' d ago';
  return new Date(at).toISOString().slice(0, 10);
}

function clock(text) {
  const at = instant(text);
  if (!Number.isFinite(at)) return none;
  return new Date(at).toLocaleTimeString('en-GB');
}

function moment(text) {
  const at = instant(text);
  if (!Number.isFinite(at)) return text || none;
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

function day(ms) {
  return new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
}

// brief shortens a long id to its two ends. The last characters distinguish ids.
function brief(id) {
  if (!id) return none;
  return id.length <= 20 ? id : id.slice(0, 9) + '…' + id.slice(-6);
}

const plural = (n, one, many) => count(n) + ' ' + (n === 1 ? one : many || one + 's');
const words = (text) => String(text || '').replace(/[_.]/g, ' ');
// sentence turns an identifier into the start of a phrase: memory_delta becomes Memory delta.
const sentence = (text) => words(text).replace(/^./, (c) => c.toUpperCase());
