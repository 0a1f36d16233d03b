// Settings of this browser.

const densities = [['comfortable', 'Comfortable'], ['compact', 'Compact']];
const themes = [['auto', 'As the system'], ['light', 'Light'], ['dark', 'Dark']];

async function chooseNotify(on) {
  if (!on) memory.set('notify', 'off');
  else if (!('Notification' in globalThis)) say('This browser has no notifications.', true);
  else if ((await Notification.requestPermission()) === 'granted') memory.set('notify', 'on');
  else say('The browser does not allow notifications of this page.', true);
  changed();
}

function toggleKind(kind) {
  const kinds = new Set(notifyKinds());
  if (kinds.has(kind)) kinds.delete(kind);
  else kinds.add(kind);
  memory.set('notify.kinds', [...kinds].join(','));
  changed();
}

const check = (name, text, checked, onchange, more) => h('label', { class: 'choice', key: name }, h('input', { type: 'checkbox', checked, 'data-set': name, onchange: (e) => onchange(e.target.checked), ...more }), text);

const option = (name, label, options, value, choose) => h('label', { class: 'choice', key: name }, h('span', { class: 'choice-name' }, label),
  h('select', { class: 'field', 'data-set': name, value, onchange: (e) => choose(e.target.value) }, options.map(([v, text]) => h('option', { key: v, value: v, selected: v === value }, text))));

const settingQuiet = () => memory.get('quiet') !== 'off';
const costZone = () => memory.get('zone') || 'local';

function keep(name, value) {
  memory.set(name, value);
  changed();
}

function showDensity() {
  document.documentElement.dataset.density = memory.get('density') || 'comfortable';
  document.documentElement.dataset.quietMark = settingQuiet() ? 'on' : 'off';
}

function settingsView() {
  return h('div', { class: 'page', key: 'settings' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Settings'), h('p', { class: 'sub' }, 'They are kept in this browser only.'))),
    h('div', { class: 'scroller', tabindex: '0', role: 'group', 'aria-label': 'Settings' },
      section('Notifications', null,
        check('notify', 'Notify me of new needs while this page is hidden or shows another project', notifies(), chooseNotify),
        h('fieldset', { class: 'kinds', disabled: !notifies() }, h('legend', {}, 'Of which kinds'), Object.entries(needNames).map(([kind, name]) => check('notify-' + kind, name, notifyKinds().includes(kind), () => toggleKind(kind))))),
      section('Keys', null, check('keys', 'Single keys act (Ctrl+Enter, Ctrl+K and Esc always do)', state.keys, (on) => { state.keys = on; keep('keys', on ? 'on' : 'off'); })),
      section('Appearance', null,
        option('theme', 'Theme', themes, state.theme, (theme) => { state.theme = theme; showTheme(); keep('theme', theme); }),
        option('density', 'Density', densities, memory.get('density') || 'comfortable', (density) => { keep('density', density); showDensity(); }),
        check('quiet', 'Mark live runs that have said nothing for ' + duration(quietAfter), settingQuiet(), (on) => { keep('quiet', on ? 'on' : 'off'); showDensity(); })),
      section('Cost', null, option('zone', 'Days are those of', [['local', 'this browser (' + (Intl.DateTimeFormat().resolvedOptions().timeZone || 'local') + ')'], ['utc', 'UTC']], costZone(), (zone) => keep('zone', zone)))));
}
