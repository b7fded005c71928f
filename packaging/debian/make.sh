#!/bin/sh
# Makes Debian's packages by debhelper: make.sh BUILT TO [ARCHITECTURE WORDS…]. BUILT has the tool and the C library;
# the words run the tool of another architecture.
set -eu
built=$(realpath "$1") to=$2 architecture=${3:-$(dpkg --print-architecture)}
shift "$(($# < 3 ? 2 : 3))"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
multiarch=$(dpkg-architecture -a"$architecture" -qDEB_HOST_MULTIARCH 2>/dev/null)
rm -rf "$to"
mkdir -p "$to/source"
to=$(realpath "$to")
sh packaging/lay.sh "$built" "$to/laid" "lib/$multiarch" \
    "turnwise libturnwise-preload0 libturnwise0 libturnwise-dev" "$@"

cp -r packaging/debian CHANGELOG.md "$to/source"
sed 's/^$/./; s/^/ /' LICENSE-MIT >>"$to/source/debian/copyright"
cat >"$to/source/debian/changelog" <<END
turnwise ($version-1) unstable; urgency=medium

  * changelog.gz has the changes.

 -- The Turnwise authors <maintainers@turnwise.invalid>  $(git log -1 --format=%cD)
END
cd "$to/source"
chmod +x debian/rules
DEB_RULES_REQUIRES_ROOT=no dpkg-architecture -a"$architecture" -c debian/rules binary
rm -rf "$to/source" "$to/laid"
