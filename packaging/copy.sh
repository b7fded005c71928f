#!/usr/bin/env bash
# Copies the tree as it is, without what git ignores, to a new folder: copy.sh TO
set -eu
rm -rf "$1"
mkdir -p "$1"
# Others were deleted in the working tree, or are a folder of another repository.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
done | xargs -0 cp --parents --target-directory "$1"
