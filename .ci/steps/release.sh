#!/usr/bin/env bash
# A release is one command. Made twice, in two folders, it is the same to the byte; its image is
# one that others' tools read and that runs; its bill of materials is what the program holds.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need skopeo skopeo
version=0.0.0-ci
git clone -q . "$scratch/one"
git clone -q . "$scratch/farther/two"
# Those that the steps platforms and binary have compiled; RELEASE_PLATFORMS= makes all six.
platforms=${RELEASE_PLATFORMS-linux/amd64,linux/arm64,darwin/arm64,windows/amd64}
(cd "$scratch/one" && go run ./cmd/quern-release -version $version -o "$scratch/dist" ${platforms:+-platforms "$platforms"})
# The second time without the systems whose archives are made as those of Linux are.
(cd "$scratch/farther/two" && go run ./cmd/quern-release -version $version -o "$scratch/again" -platforms linux/amd64,linux/arm64)
(cd "$scratch/dist" && sha256sum --quiet -c SHA256SUMS && ls -l)
for f in "$scratch"/again/*; do
  [ "${f##*/}" = SHA256SUMS ] || cmp "$f" "$scratch/dist/${f##*/}" || fail "${f##*/} is another the second time"
done

# The archive: the program says what it is, and holds what the bill says.
tar -xzf "$scratch/dist/quern_${version}_linux_amd64.tar.gz" -C "$scratch"
program=$scratch/quern_${version}_linux_amd64/quern
"$program" version
"$program" version | grep -q "^quern $version ($(git -C "$scratch/one" rev-parse --short=12 HEAD))" || fail "the program does not know its version and commit"
go version -m "$program" | awk '$1 == "dep" { print "pkg:golang/" $2 "@" $3 }' | sort >"$scratch/held"
sed -n 's/.*"purl": "\(pkg:golang\/.*\)".*/\1/p' "$scratch/dist/quern_${version}_linux_amd64.cdx.json" |
  grep -v '^pkg:golang/\(std\|quern\)@' | sort >"$scratch/billed"
diff "$scratch/held" "$scratch/billed" || fail "the bill of materials is not what the program holds"

# The image: OCI's tools and Docker's format, both platforms, and it runs.
image=$scratch/dist/quern_${version}_image.tar
skopeo copy -q --all "oci-archive:$image:quern:$version" "dir:$scratch/image"
for arch in amd64 arm64; do
  skopeo inspect --config --override-arch $arch "oci-archive:$image:quern:$version" | grep -q "\"architecture\": *\"$arch\"" || fail "no image for $arch"
  skopeo copy -q "docker-archive:$image:quern:$version-$arch" "dir:$scratch/docker-$arch"
done
mkdir "$scratch/root"
for layer in $(grep -o 'sha256:[0-9a-f]*' "$scratch/docker-amd64/manifest.json" | sed 1d | cut -d: -f2); do
  tar -xf "$scratch/docker-amd64/$layer" -C "$scratch/root"
done
[ "$(chroot --userspec 65532:65532 "$scratch/root" /quern version | head -n 1)" = "$("$program" version | head -n 1)" ] || fail "the image does not run"
echo "the image runs, $(du -h "$image" | cut -f1) for both platforms"
