// Dialogs, one at a time. A dialog traps the focus. Esc and Cancel close it, and return the focus
// to the element that opened it.
//
//   openDialog({name, title, body, confirm, danger, run, ready, wide})
//     body()    the content, drawn with each draw
//     confirm   the label of the acting button (data-act="confirm"); without it: Close only
//     run()     the action, awaited; the dialog closes unless run returns false or throws
//     ready()   whether the button is enabled
//   closeDialog()

function openDialog(dialog) {
  state.dialog = { ...dialog, opener: document.activeElement, busy: false, error: '' };
  changed();
}

function closeDialog() {
  const { opener } = state.dialog || {};
  state.dialog = null;
  drawNow();
  refocus(opener);
}

// refocus returns the focus to an element, or to the title of the view if the element is gone.
function refocus(el) {
  if (el && el.isConnected && el !== document.body) el.focus();
  else focusTitle();
}

async function confirmDialog() {
  const dialog = state.dialog;
  if (!dialog || dialog.busy || (dialog.ready && !dialog.ready())) return;
  dialog.busy = true;
  dialog.error = '';
  changed();
  try {
    const keep = (await dialog.run()) === false;
    if (state.dialog === dialog && !keep) return closeDialog();
  } catch (error) {
    dialog.error = error.status === 0 ? 'Nothing was sent. ' + error.message : error.message;
  }
  dialog.busy = false;
  changed();
}

const focusable = 'a[href], button:not([disabled]), input:not([disabled]), select, textarea, [tabindex="0"]';

function trapFocus(event) {
  if (event.key === 'Escape') {
    event.stopPropagation();
    event.preventDefault();
    closeDialog();
    return;
  }
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    confirmDialog();
    return;
  }
  if (event.key !== 'Tab') return;
  const all = [...event.currentTarget.querySelectorAll(focusable)].filter((el) => el.offsetParent !== null);
  const edge = event.shiftKey ? all[0] : all[all.length - 1];
  if (document.activeElement === edge || document.activeElement === event.currentTarget) {
    event.preventDefault();
    (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
  }
}

function dialogView() {
  const dialog = state.dialog;
  if (!dialog) return null;
  const acts = dialog.confirm
    ? [button('Cancel', closeDialog, { key: 'cancel', act: 'cancel' }),
      button(dialog.busy ? 'Working…' : dialog.confirm, confirmDialog, { key: 'confirm', act: 'confirm', kind: dialog.danger ? 'danger' : 'primary', disabled: dialog.busy || Boolean(dialog.ready && !dialog.ready()) })]
    : [button('Close', closeDialog, { key: 'cancel', act: 'cancel' })];
  return h('div', { class: 'overlay', key: 'dialog/' + dialog.name, onclick: (e) => e.target.classList.contains('overlay') && closeDialog() },
    h('div', { class: 'dialog' + (dialog.wide ? ' wide' : ''), role: 'dialog', 'aria-modal': 'true', 'aria-labelledby': 'dialog-title', tabindex: '-1', onkeydown: trapFocus, mounted: (el) => (el.querySelector('[autofocus]') || el).focus() },
      h('h2', { id: 'dialog-title' }, dialog.title),
      h('div', { class: 'dialog-body' }, dialog.body && dialog.body()),
      dialog.error && h('p', { class: 'fault', role: 'alert' }, dialog.error),
      h('div', { class: 'actions end' }, acts)));
}
