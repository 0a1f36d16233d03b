package main

// idWords defines the shell function id, which prints the first id of a kind in its input.
const idWords = `set -e
id() { grep -o "$1"'_[0-9A-Z]\{26\}' | sed -n 1p; }
`

// plumbingWorld creates the workspace that the examples refer to. It prints ids for the examples as
// NAME=ID lines. NAME is an option or a kind of id; COMMAND+KIND applies to one command only. The
// codex of this world completes every job.
const plumbingWorld = idWords + `
git init -q -b main shop
mkdir shop/client
echo 1 >shop/client/a.txt
git -C shop config user.name A
git -C shop config user.email a@example.org
git -C shop add .
git -C shop commit -q -m First
ac workspace:init acme --name Acme >/dev/null
ac machine:set-repo acme --repo shop --path shop >/dev/null
P=$(ac project:new acme --name Site | id proj)
cat >bin/codex <<'END'
#!/bin/sh
case "$*" in
'login status') echo 'Logged in using ChatGPT'; exit 0 ;;
--version) echo 'codex-cli 9.9'; exit 0 ;;
*--help) echo usage; exit 0 ;;
app-server) exit 2 ;;
esac
while [ $# -gt 0 ]; do
	if [ "$1" = --output-last-message ]; then last=$2; fi
	shift
done
cat >"$HOME/in.$$"
if [ "$last" ]; then sed '1,/^The document to complete:$/d' "$HOME/in.$$" | sed 1d >"$last"; fi
case $(cat "$HOME/in.$$") in
*Shorten*) answer='{\"text\":\"shorter\"}' ;;
*) answer='{\"status\":\"succeeded\",\"summary\":\"two files\",\"files_changed\":[],\"commands_run\":[],\"artifacts\":[],\"next_actions\":[],\"errors\":[]}' ;;
esac
rm "$HOME/in.$$"
printf '%s\n' '{"type":"item.completed","item":{"type":"agent_message","text":"'"$answer"'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":20}}'
END
chmod 755 bin/codex
echo "proj=$P"
ac rpc:call --method workspace.project.link_repo --params '{"workspace_dir":"acme","project_id":"'$P'","repo_id":"shop"}' >/dev/null
C=$(ac agent:new acme --name Cem --role ceo --provider codex | id agent)
D=$(ac agent:new acme --name Dana --role director --provider codex | id agent)
M=$(ac agent:new acme --name Mia --role manager --provider codex | id agent)
N=$(ac agent:new acme --name Ned --role manager --provider codex | id agent)
W=$(ac agent:new acme --name Wes --role worker --provider codex | id agent)
TEAM=$(ac team:new acme --name Support | id team)
echo "agent=$W"; echo "ceo=$C"; echo "director=$D"; echo "managers=$M $N"; echo "manager=$M"; echo "team=$TEAM"
T=$(ac task:new acme --project $P --title 'Sign in' --assignee $W | id task)
ac task:add-milestone acme --project $P --task $T --title M1 --kind coding --status ready --accept done >/dev/null
MS=$(ac rpc:call --method task.list --params '{"workspace_dir":"acme","project_id":"'$P'"}' | id ms)
echo "task=$T"; echo "ms=$MS"
A=acme/work/projects/$P/artifacts
mkdir -p $A
printf -- '--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n' >$A/art_patch.patch
echo ok >$A/art_tests.txt
echo "milestone:approve+art=$(ac milestone:report:new acme --project $P --task $T --milestone $MS --title Done --evidence art_patch --tests art_tests | id art)"
echo "art=$(ac memory:delta acme --project $P --title Cuts --under '## Decisions' --insert '- On Tuesdays' | id art)"
echo "help=$(ac help:new acme --title 'Which queue?' --target $M | id help)"

R=$(ac run:new acme --project $P --agent $W --provider cmd | id run)
S=$(ac rpc:call --method session.launch --params '{"workspace_dir":"acme","project_id":"'$P'","run_id":"'$R'","repo_id":"shop","task_id":"'$T'","milestone_id":"'$MS'","argv":["sh","-c","echo built; echo 2 >>client/a.txt"]}' | cut -d '"' -f 4)
ac rpc:call --method session.collect --params '{"workspace_dir":"acme","session_ref":"'$S'"}' >/dev/null
echo "run=$R"; echo "local_run=$S"
NEW=$(ac run:new acme --project $P --agent $W --provider cmd | id run)
echo "run:discard+run=$NEW"; echo "run:execute+run=$NEW"
F=$(ac run:new acme --project $P --agent $W --provider cmd | id run)
ac run:execute acme --project $P --run $F --argv false >/dev/null || true
echo "needs:dismiss+run=$F"
echo "cp=$(ac artifact:apply acme --project $P --run $R --json | id cp)"
echo "share=$(ac sharepack:create acme --project $P | id share)"
JOB=$(ac job:submit acme --project $P --worker codex --goal 'List the files' | id job)
ac job:collect acme --project $P --job $JOB --wait >/dev/null
echo "job=$JOB"
ac conversation:list acme >/dev/null
ac artifact:new proposal brief.md --title Brief >/dev/null
B=$(id art <brief.md)
mv brief.md $A/$B.md
echo "artifact:fill+art=$B"
`

// plumbingNeeds returns, by command, the shell commands that prepare its examples. Their output is
// parsed like that of plumbingWorld. Commands that need nothing are listed because what they change
// would affect other examples.
func plumbingNeeds() map[string]string {
	const (
		nothing  = ":"
		template = `cat >flow.yaml <<'END'
schema_version: 1
type: workflow
id: review:refine
name: Refine
inputs: [{name: topic}]
flow: {kind: task, agent: {role: worker}, goal: "Shorten: {{inputs.topic}}"}
END
mkdir -p acme/org/workflows/review
cp flow.yaml acme/org/workflows/review/refine.yaml
ac machine:set-repo acme --repo main --path shop >/dev/null
ac rpc:call --method workspace.project.link_repo --params '{"workspace_dir":"acme","project_id":"'$P'","repo_id":"main"}' >/dev/null
`
		flow       = template + `echo "run=$(ac workflow:run acme --project $P --workflow review:refine --set topic=tea --wait --json | id run)"`
		enterprise = `rm -r acme
echo 'We want a shop.' >request.md
ac workspace:bootstrap acme --department backend >made
echo "agent=$(grep '"executive_manager_agent_id"' made | id agent)"
`
		assigned = enterprise + `echo "director-agent-id=$(grep '"director_agent_id"' made | id agent)"
echo "worker-agent-ids=$(grep -A1 '"worker_agent_ids"' made | id agent)"
ac pipeline:client-intake acme --project-name Shop --ceo-actor-id human_ceo --executive-manager-agent-id $(grep '"executive_manager_agent_id"' made | id agent) --intake-file request.md >shop.json
P=$(grep '"project_id"' shop.json | id proj)
echo "proj=$P"
echo "art=$(grep '"executive_plan_artifact_id"' shop.json | id art)"
ac inbox:resolve acme --project $P --artifact $(grep '"approval_artifact_id"' shop.json | id art) --decision approved --actor human_ceo --role human >/dev/null
`
	)
	return map[string]string{
		"machine:set-provider-bin":         nothing,
		"machine:set-repo":                 nothing,
		"inbox:resolve":                    nothing,
		"ui:resolve":                       nothing,
		"memory:approve":                   nothing,
		"workspace:export":                 nothing,
		"run:discard":                      nothing,
		"artifact:fill":                    nothing,
		"artifact:apply":                   nothing,
		"run:watch":                        nothing,
		"workspace:migrate":                nothing,
		"session:stop":                     nothing,
		"help:answer":                      nothing,
		"agent:self-improve-cycle":         "ac machine:set-repo acme --repo web --path shop >/dev/null",
		"artifact:validate":                "ac artifact:new proposal plan.md --title Plan >/dev/null",
		"audit:key":                        "ac audit:seal acme >/dev/null; ac audit:key >acme.pub",
		"audit:verify":                     "ac audit:seal acme >/dev/null; ac audit:key >acme.pub",
		"conversation:send":                "cp -R shop/.git .",
		"dialect:serve":                    template,
		"dialect:status":                   "ac dialect:start acecode acme --project $P --listen 127.0.0.1:0 >/dev/null",
		"dialect:stop":                     "ac dialect:start acecode acme --project $P --listen 127.0.0.1:0 >/dev/null",
		"index:event-errors":               "ac index:rebuild acme >/dev/null",
		"index:events":                     "ac index:rebuild acme >/dev/null",
		"index:help":                       "ac index:rebuild acme >/dev/null",
		"index:reviews":                    "ac index:rebuild acme >/dev/null",
		"index:runs":                       "ac index:rebuild acme >/dev/null",
		"index:stats":                      "ac index:rebuild acme >/dev/null",
		"log:verify":                       "cp $(ls acme/work/projects/*/runs/*/events.jsonl | head -1) events.jsonl",
		"mcp:files":                        "mkdir ../library",
		"pipeline:assign-department-tasks": assigned,
		"pipeline:client-intake":           enterprise,
		"pipeline:plan":                    "echo 'We want a shop.' >request.md",
		"run:changes":                      "cp -R shop/. .; git checkout -q .",
		"run:execute":                      "echo hi >prompt.txt",
		"workflow:run":                     template,
		"workflow:show":                    template,
		"workflow:status":                  flow,
		"workspace:bootstrap":              "rm -r acme",
		"workspace:import":                 "mv acme backup",
		"workspace:init":                   "rm -r acme",
	}
}

// plumbingAfterwards returns, by command, the shell command that stops what its examples leave
// running.
func plumbingAfterwards() map[string]string {
	return map[string]string{"dialect:status": "ac dialect:stop acecode acme --project $P"}
}

// plumbingLeftOut returns prefixes of examples that these tests skip, with the reason.
func plumbingLeftOut() map[string]string {
	const (
		port  = "listens on the port that everybody's does"
		hub   = "needs a hub: the tests of ac-hub run one, machines.txtar the command without"
		agent = "needs an agent at work: live.txtar and answering.txtar run the command"
	)
	return map[string]string{
		"ac audit:seal ./acme --key-file /run":   "needs a key in /run: audit.txtar runs the command",
		"ac audit:verify ./acme --key ac-audit+": "has a key and a checkpoint of somebody else: audit.txtar runs the command",
		"ac conversation:follow":                 "ends with a signal: conversation.txtar runs the command",
		"ac dialect:serve":                       port,
		"ac dialect:start":                       port,
		"ac hub:config":                          hub,
		"ac hub:permissions":                     hub,
		"ac hub:start":                           hub,
		"ac hub:status":                          hub,
		"ac hub:stop":                            hub,
		"ac session:abandon":                     hub,
		"ac worker:drain":                        hub,
		"ac worker:invite":                       hub,
		"ac worker:join":                         hub,
		"ac worker:label":                        hub,
		"ac worker:revoke":                       hub,
		"ac worker:start":                        hub,
		"ac worker:status":                       hub,
		"ac mcp:serve":                           "needs the grant of an agent at work: mcp.txtar runs the command",
		"ac run:answer":                          agent,
		"ac run:compact":                         agent,
		"ac run:continue":                        agent,
		"ac run:interrupt":                       agent,
		"ac run:launch":                          agent,
		"ac run:review":                          "needs an agent that reads: room.txtar runs the command",
		"ac run:steer":                           agent,
		"ac workflow:run ./acme --project proj_1 --file": "goes on when the command is over: workflow.txtar runs it",
		"ac workflow:cancel":                             "needs a workflow at work: workflow.txtar runs the command",
		"ac ui:web ./acme --allow-launch":                port,
		"ac ui:web ./acme --project P --dialect":         port,
		"ac ui:web ./acme --project P --host":            port,
		"ac ui:web ./acme --project proj":                port,
		"ac ui:web ./acme --project P --actor":           "ends with a signal: web.txtar runs the command",
	}
}
