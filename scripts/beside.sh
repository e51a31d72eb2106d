#!/usr/bin/env bash
# beside.sh COMMAND... -- COMMAND...: run two commands side by side; fails when one of them fails.
# The output of the second is shown as it comes, that of the first when both have ended; last comes the second's last
# line once more, which says how it ended.
set -uo pipefail

first=()
while [[ $1 != -- ]]; do
	first+=("$1")
	shift
done
shift

folder=$(mktemp -d)
"${first[@]}" >"$folder/first" 2>&1 &
beside=$!
trap 'kill "$beside" 2>/dev/null; rm -rf "$folder"' EXIT

"$@" | tee "$folder/second"
second=${PIPESTATUS[0]}
wait "$beside"
status=$?

cat "$folder/first"
tail -n 1 "$folder/second"
exit $((status ? status : second))
