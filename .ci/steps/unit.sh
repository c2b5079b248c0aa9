#!/usr/bin/env bash
# The systemd unit under a systemd of its own: Debian in a folder, booted in namespaces that have a
# loopback interface and no more. It starts, is ready, reloads, keeps its state, drains, comes
# back after kill -9, and nothing that it is shut off from is what quern needs.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need debootstrap debootstrap
need systemd-nspawn systemd-container
build_quern
root=${QUERN_UNIT_ROOT:-$scratch/root} # a folder that stays saves the two minutes that making it takes
[ -x "$root/usr/bin/openssl" ] ||
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,openssl,procps bookworm "$root" >"$scratch/debootstrap" ||
  { tail "$scratch/debootstrap"; fail "there is no Debian to boot"; }

rm -rf "$root"/etc/quern "$root"/etc/systemd/system/quern* "$root"/var/{lib,cache,log}/{private/,}quern "$root/srv/models"
command install -D -m 755 "$shared/quern" "$root/usr/local/bin/quern"
command install -m 644 deploy/systemd/quern.service "$root/etc/systemd/system/quern.service"
command install -D -m 644 engine/model/testdata/llama-Q4_K_M.gguf "$root/srv/models/little.gguf"
command install -m 755 .ci/unit-inside.sh "$root/root/inside.sh"

boot() { exec timeout -k 5 300 systemd-nspawn -D "$root" --register=no --keep-unit --private-network --console=pipe --boot; }
boot >"$scratch/boot" 2>&1 &
outside=$!
inside=
end() { # what is inside goes with its first process; systemd-nspawn alone would leave it
  [ -z "$inside" ] || kill -KILL "$inside" 2>/dev/null || true
  kill -KILL "$outside" 2>/dev/null || true
  wait "$outside" 2>/dev/null || true
}
trap 'end; cleanup' EXIT

# The first process inside is the child of systemd-nspawn, which is that of timeout.
child() { cut -d' ' -f1 "/proc/$1/task/$1/children" 2>/dev/null || true; }
for _ in $(seq 100); do
  nspawn=$(child "$outside")
  inside=$(child "${nspawn:-none}")
  [ -n "$inside" ] && nsenter -t "$inside" -m -p test -S /run/systemd/private && break
  sleep 0.2
done
[ -n "$inside" ] || { cat "$scratch/boot"; fail "systemd does not boot"; }
timeout -k 5 240 nsenter -t "$inside" -m -u -i -n -p -C env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash /root/inside.sh ||
  fail "the unit does not work under systemd"
