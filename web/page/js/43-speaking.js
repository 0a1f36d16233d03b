// Talking with the agent of the open run: steering, interrupting, continuing, and its policy.

// freshId returns an idempotency key. Plain http pages of another machine have no
// crypto.randomUUID.
const freshId = () => 'web-' + Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');

// messageId returns the same id for the same message, so that a retry sends it once.
function messageId(open, text) {
  if (!open.message || open.message.text !== text) open.message = { text, id: freshId() };
  return open.message.id;
}

// speak performs one action on the open run, and keeps the text if it fails.
async function speak(open, method, params, done) {
  if (open.speaking) return;
  open.speaking = true;
  changed();
  try {
    const result = await call(method, { project_id: open.project, run_id: open.id, ...params });
    if (params.client_message_id) {
      open.message = null;
      state.fields['say/' + open.id] = '';
    }
    say(done(result));
  } catch (error) {
    say('Nothing was sent: ' + error.message, true);
  }
  open.speaking = false;
  renewed(open);
  changed();
}

const deliveries = { mid_turn: 'The agent takes it into its turn.', next_turn: 'It waits for the next turn.', new_turn: 'A turn begins with it.', interrupt: 'The turn is being interrupted.', next_launch: 'It waits until the run continues.' };

const steer = (open, text, mode) => speak(open, 'run.steer', { text, mode, client_message_id: messageId(open, mode + ' ' + text) }, (r) => deliveries[r.delivery] || 'Said.');

const interrupt = (open) => speak(open, 'run.interrupt', {}, (r) => 'Turn ' + r.turn + ' is being stopped.');

const resumptions = { provider: "It takes up the agent's own conversation.", digest: 'It starts anew, with a digest of what happened.', live: 'The agent goes on.', no: 'It starts anew.', pending: 'It is starting.' };

// takesBudget reports whether the form offers another budget: for a run that exceeded its own.
const takesBudget = (open) => (aboutRun(open).flags || []).includes('over_budget');

// goOn continues an ended run, with another budget if one is entered.
function goOn(open, text) {
  const written = (takesBudget(open) && state.fields['budget/' + open.id]) || '';
  const budget = budgetOf(written);
  if (!budget) return say('Nothing was sent: ' + budgetHint, true);
  return speak(open, 'run.continue', { prompt_text: text, client_message_id: messageId(open, text + written), ...(Object.keys(budget).length ? { budget } : {}) }, (r) => {
    state.fields['budget/' + open.id] = '';
    return resumptions[r.resumed] || 'It goes on.';
  });
}

// speakingBox is the message box below the transcript. Its actions depend on the state of the run.
function speakingBox(open) {
  const now = open.transcript.state;
  if (!now) return null;
  const busy = runLives(open) && now.activity && now.activity !== 'idle';
  if (!now.activity && runLives(open)) return h('p', { class: 'speaking quiet', key: 'speaking' }, 'This program takes no messages.');
  const can = open.continuable;
  // While the run ends, the field stays with its text.
  const waits = !busy && (!can || can.reason === 'run_busy');
  if (!busy && !waits && !can.ok) return h('p', { class: 'speaking quiet', key: 'speaking' }, cannotContinue[can.reason] || 'This run cannot continue: ' + words(can.reason) + '.');
  const name = personName(aboutRun(open).agent);
  // Without text, the button focuses the field.
  const saying = (send) => () => {
    const text = (state.fields['say/' + open.id] || '').trim();
    if (text && !waits) send(text);
    else document.querySelector('[data-steer]')?.focus();
  };
  const send = saying((text) => (busy ? steer(open, text, 'next_turn') : goOn(open, text)));
  return h('form', { class: 'speaking compose', key: 'speaking', 'aria-label': 'Speak with the agent', onsubmit: (e) => e.preventDefault() },
    field('say/' + open.id, busy ? 'Say something to ' + name : 'What ' + name + ' is to do next', { rows: 2, 'data-steer': true, onkeydown: sends(send) }, 'textarea'),
    !busy && takesBudget(open) && h('label', { class: 'policy-choice', key: 'budget' }, h('span', {}, 'Another budget'),
      field('budget/' + open.id, '$2.00 or 200k tokens', { 'data-field': 'budget', 'aria-label': 'Another budget', onkeydown: sends(send) })),
    h('div', { class: 'compose-foot' },
      h('span', { class: 'hint' }, busy ? activityWords(now) : now.activity === 'idle' ? 'The agent waits for you.' : waits ? 'The run is ending.' : resumptions[can.resume]),
      h('div', { class: 'actions' }, busy
        ? [act('steer', 'Steer', send, { kind: 'primary', disabled: open.speaking, hint: 'Ctrl+Enter' }), act('interrupt', 'Interrupt and say', saying((text) => steer(open, text, 'interrupt')), { disabled: open.speaking, key: 'interrupt-say' })]
        : act('continue', 'Continue', send, { kind: 'primary', disabled: open.speaking || waits, hint: 'Ctrl+Enter' }))),
    policyMenu(open));
}

// cannotContinue explains why an ended run cannot continue, and suggests what helps.
const cannotContinue = {
  worktree_gone: 'This run cannot continue: its worktree is gone. Retry starts another one like it.',
  run_owned_by_job: 'This run belongs to a job that is not over: the job decides how it goes on.',
  run_not_resumable: 'This run cannot continue: its program takes no further prompt. Retry starts another one like it.',
};

const activityWords = (now) => (/^waiting_/.test(now.activity) ? 'The agent waits for an answer.' : now.activity === 'starting' ? 'The agent is starting.' : 'Turn ' + now.turn + ' is under way.');

const modes = [['default', 'Ask'], ['accept_edits', 'Accept edits'], ['plan', 'Plan only'], ['full_auto', 'Full auto']];
const levels = [['read-only', 'Read only'], ['patch', 'Edit files'], ['run-commands', 'Run commands'], ['full', 'Everything']];
const bears = { 'read-only': ['default', 'plan'], patch: ['default', 'plan', 'accept_edits'] };
const modeWords = { default: 'It asks before it changes anything', accept_edits: 'It edits files in its folder without asking, and asks for the rest', plan: 'It reads and proposes a plan, and changes nothing', full_auto: 'It asks for nothing that its level bears' };
const levelWords = { 'read-only': 'writing and the network are refused.', patch: 'writing outside of its folder is refused.', 'run-commands': 'commands run in the sandbox of the agent.', full: 'the agent has no sandbox.' };

// policyMenu shows and changes the policy of the run.
function policyMenu(open) {
  const entry = fetched('policy/' + open.id, () => call('run.policy.get', { project_id: open.project, run_id: open.id }), 60000);
  const policy = entry.value && entry.value.policy;
  if (!policy) return null;
  const set = async (change) => {
    try {
      const done = await call('run.policy.set', { project_id: open.project, run_id: open.id, ...change });
      say('The policy holds from now on.' + (done.resolved.length ? ' It answered ' + plural(done.resolved.length, 'request') + '.' : ''));
    } catch (error) {
      say('Not changed: ' + error.message, true);
    }
    stale('policy/' + open.id);
  };
  const menu = (label, value, list, name) => h('label', { key: name, class: 'policy-choice' }, h('span', {}, label),
    h('select', { class: 'field', name, value, onchange: (e) => set({ [name]: e.target.value }) }, list.map(([v, t]) => h('option', { value: v, key: v }, t))));
  const narrow = matchMedia('(max-width: 899px)').matches;
  const parts = [menu('Mode', policy.mode, modes.filter(([v]) => v === policy.mode || (bears[policy.permission_level] || [v]).includes(v)), 'mode'),
    menu('Level', policy.permission_level, levels, 'permission_level'),
    h('span', { class: 'hint' }, modeWords[policy.mode] + '; ' + levelWords[policy.permission_level] + (policy.rules.length ? ' ' + plural(policy.rules.length, 'rule') + ' first: ' + policy.rules.slice(0, 8).map((r) => r.effect + ' ' + r.operation + ' ' + r.glob).join(', ') + '.' : ''))];
  if (!narrow) return h('div', { class: 'policy', key: 'policy' }, parts);
  return h('details', { class: 'policy-more', key: 'policy-more' }, h('summary', {}, 'Rights: ' + (modes.find(([v]) => v === policy.mode) || ['', words(policy.mode)])[1] + ', ' + (levels.find(([v]) => v === policy.permission_level) || ['', policy.permission_level])[1].toLowerCase()), h('div', { class: 'policy' }, parts));
}
