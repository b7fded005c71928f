#!/bin/sh
# Makes packages for Red Hat, Fedora and SUSE by rpmbuild, unpacks them next to the system and uses what is in them:
# make.sh BUILT TO. BUILT has the tool and the C library, built for this processor.
set -eu
built=$(realpath "$1") to=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
rm -rf "$to"
mkdir -p "$to"
to=$(realpath "$to")
sh packaging/lay.sh "$built" "$to/laid" lib64 "turnwise libturnwise-preload0 libturnwise0 libturnwise-devel"
rpmbuild --quiet -bb --define "_topdir $to/build" --define "_rpmdir $to" --define "_build_id_links none" \
    --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "_dbpath $to/build/db" \
    --define "tool_version $version" --define "laid $to/laid" --define "libraries /usr/lib64" \
    packaging/rpm/turnwise.spec
rm -rf "$to/build" "$to/laid"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
for package in "$to"/*.rpm; do
    rpm2cpio "$package" | (cd "$root" && cpio --extract --quiet --make-directories)
done
VERSION=$version sh packaging/use.sh "$root/usr/bin/turnwise"
[ "$("$root/usr/bin/turnwise" library)" = "$root/usr/lib64/libturnwise_preload.so.0" ] ||
    { echo "the tool does not take the library of its package"; exit 1; }
ls "$to"
