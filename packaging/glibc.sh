#!/bin/sh
# Checks that programs and libraries need no glibc later than 2.28, Debian 10's and Red Hat 8's: glibc.sh FILE...
# OBJDUMP in the environment names the one for another processor's files. Found are symbols of a later version, and
# those without one that are not weak (w): they were not found when the file was linked.
set -eu
: "${1:?no file}"
for file; do
    ${OBJDUMP:-objdump} -T "$file" | awk -v file="$file" '
        match($0, /\*UND\*/) {
            seen = 1
            weak = substr($0, 1, RSTART) ~ / w /
            count = split(substr($0, RSTART + 5), word, /[ \t()]+/)
            split(substr(word[3], 7), version, ".")
            later = word[3] ~ /^GLIBC_/ && (version[1] > 2 || version[1] == 2 && version[2] > 28)
            if (count > 3 ? later : !weak) { print file " asks for " word[count]; wrong = 1 }
        }
        END {
            if (!seen) print file " needs nothing of any library"
            exit wrong || !seen
        }'
done
echo "$# programs and libraries ask for glibc 2.28 or older"
