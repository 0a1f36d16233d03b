# Prints what the reads listed in the file $1 say of the workspace "w": each line of it is a
# command, or "rpc", a method and its params, with ids of the workspace as variables.
P=$(ls w/work/projects | sed -n 1p)
R=$(grep -l 'exit 0' w/work/projects/$P/runs/*/run.yaml | sed -n 1p | grep -o 'run_[0-9A-Z]*')
F=$(grep -l 'exit 5' w/work/projects/$P/runs/*/run.yaml | sed -n 1p | grep -o 'run_[0-9A-Z]*')
T=$(ls w/work/projects/$P/tasks | sed -n '$s/.md//p')
KEY=$(cat w/company/audit/key.pub)
while IFS= read -r line; do
	case "$line" in
	rpc\ *)
		set -- $line
		params=$(printf %s "${line#rpc $2 }" | sed "s/\\\$P/$P/g; s/\\\$R/$R/g")
		said=$(ac rpc:call --method "$2" --params "$params" 2>&1)
		;;
	*) said=$(eval "$line" 2>&1) ;;
	esac
	printf '== %s -> %s\n%s\n' "$line" $? "$said"
done <reads.txt
