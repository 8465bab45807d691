#!/usr/bin/env bash
# scene.sh - one scene of the lab in a process of its own. usage: scene.sh NAME; see run.sh, which calls it.
#
# The last line it says is the row of the table, or "FAILED ..." and then the last words of its nodes. Its
# namespaces carry its number, so that whoever survives it can sweep behind it.
set -u
export LC_ALL=C
scene=$1
here=$(cd "$(dirname "$0")" && pwd)
lab=${LAB_BUILD:?where run.sh has built}
dir=$(mktemp -d "${TMPDIR:-/tmp}/phx$$.XXXXXX") || exit 1
. "$here/verbs.sh"
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
head -c 32 /dev/urandom > "$dir/key"
. "$here/scenes.sh"
. "$here/launch.sh"
declare -F "scene_$scene" > /dev/null || die "no such scene"
"scene_$scene"
printf 'row\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$scene" "$pairs" "$direct" "$reach_s" "$recover_s" \
    "$ratio_ssh" "$ratio_socat"
