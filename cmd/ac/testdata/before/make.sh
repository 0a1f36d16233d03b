# Makes a workspace "w" of everything that the version before this one writes. It runs in an
# empty folder, with that version as "ac" in PATH.
set -e
id() { grep -o "$1"'_[0-9A-Z]\{26\}' | sed -n 1p; }
ac demo:init w >/dev/null
P=$(ls w/work/projects | sed -n 1p)
W=$(grep -l '^role: worker' w/org/agents/*/agent.yaml | sed -n 1p | id agent)
R=$(ac run:new w --project $P --agent $W --provider cmd | id run)
ac run:execute w --project $P --run $R --argv sh -c 'echo built; echo warned >&2; exit 0' >/dev/null
F=$(ac run:new w --project $P --agent $W --provider cmd | id run)
ac run:execute w --project $P --run $F --argv sh -c 'exit 5' >/dev/null || true
T=$(ac task:new w --project $P --title 'Sign in by mail' | id task)
ac task:add-milestone w --project $P --task $T --title 'Send it' --kind coding --accept 'It arrives' >/dev/null
ac task:plan w --project $P --task $T --start 2026-12-01 --days 3 --provider cmd --by ann >/dev/null
A=$(ac memory:delta w --project $P --title 'Mail first' --under '## Decisions' --insert '- Sign in by mail' | id art)
ac memory:approve w --project $P --artifact $A --notes Agreed >/dev/null
ac memory:delta w --project $P --title Later --under '## Decisions' --insert '- No passwords' >/dev/null
ac comment:add w --project $P --target-run $R --body 'looks good' >/dev/null
ac conversation:list w >/dev/null
ac conversation:send w conv_workspace_home 'Good morning' >/dev/null
ac help:new w --title 'Which queue?' --target $W >/dev/null
ac audit:seal w >/dev/null
