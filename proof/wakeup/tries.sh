#!/bin/sh
# tries.sh N [PREFIX ...]: runs `lost` N times, as `PREFIX ... lost`, and counts the hangs.
# The exit status is 0 if no try hung, 1 if any did, 77 if it cannot run here.
set -u
cd "$(dirname "$0")" || exit 2
[ "${1:-0}" -gt 0 ] || { echo "usage: tries.sh N [PREFIX ...]" >&2; exit 2; }
tries=$1
shift
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
cc -O1 -pthread lost.c -o "$folder/lost" || exit 2
hung=0 try=0
while [ "$try" -lt "$tries" ]; do
    "$@" "$folder/lost"
    case $? in
    0) ;;
    1) hung=$((hung + 1)) ;;
    77) exit 77 ;;
    *) exit 2 ;;
    esac
    try=$((try + 1))
done
echo "$hung of $tries tries hung"
[ "$hung" -eq 0 ]
