#!/usr/bin/env bash
# What .ci/steps/unit.sh runs where systemd is the first process.
# shellcheck shell=bash
set -euo pipefail
fail() {
  echo "FAIL: $*" >&2
  systemctl status --no-pager quern >&2 || true
  journalctl --no-pager -u quern -n 40 >&2 || true
  exit 1
}
say() { printf -- '-- %s\n' "$*"; }

systemctl is-system-running --wait >/dev/null || true # degraded is fine: there is no network
mkdir -p /etc/quern/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout /etc/quern/tls/key.pem -out /etc/quern/tls/cert.pem 2>/dev/null
printf 'unit-test-key' >/etc/quern/api.key
chmod 600 /etc/quern/api.key /etc/quern/tls/key.pem # for root alone
mkdir -p /etc/systemd/system/quern.service.d
cat >/etc/systemd/system/quern.service.d/secrets.conf <<'UNIT'
[Service]
LoadCredential=api.key:/etc/quern/api.key
LoadCredential=tls.key:/etc/quern/tls/key.pem
UNIT
settings() {
  cat >/etc/quern/quern.yaml <<YAML
listen: 127.0.0.1:8443
tls: {cert: /etc/quern/tls/cert.pem, key: /run/credentials/quern.service/tls.key}
auth: [{name: unit, key_file: /run/credentials/quern.service/api.key}]
operations: {listen: 127.0.0.1:9090}
builtin: true
aliases: {$1: quern-tiny}
models: [{name: little, path: /srv/models/little.gguf, preload: true}]
prefix_cache: {dir: /var/cache/quern/prefix}
audit: {file: /var/log/quern/audit.log}
YAML
}
settings before
ask() { curl -sS --fail-with-body --cacert /etc/quern/tls/cert.pem -H 'Authorization: Bearer unit-test-key' "$@"; }
base=https://localhost:8443/v1
pid() { systemctl show -P MainPID quern; }
chat() { ask "$base/chat/completions" -H 'Content-Type: application/json' -d "{\"model\":\"$1\",\"messages\":[{\"role\":\"user\",\"content\":\"Once upon a time\"}],\"max_tokens\":${2:-8}${3-}}"; }

say "starts, and is ready when systemctl returns"
systemctl daemon-reload
timeout 60 systemctl start quern || fail "it does not start"
curl -sf http://127.0.0.1:9090/readyz >/dev/null || fail "systemctl start returned before it was ready"
[ "$(systemctl show -P SubState quern)" = running ] || fail "it does not run"

say "answers with a model it has, and lists those of /srv/models"
chat before >/dev/null || fail "no chat"
ask "$base/models" | grep -q '"little"' || fail "a model in /srv/models is not seen"

say "sandbox"
id=$(pid)
[ "$(stat -c %u "/proc/$id")" -ge 61184 ] || fail "it runs as $(stat -c %u "/proc/$id"), who is nobody's own"
grep -q '^CapEff:.*0000000000000000$' "/proc/$id/status" || fail "it has capabilities"
grep -q '^NoNewPrivs:.*1$' "/proc/$id/status" || fail "it may gain privileges"
grep -q '^Seccomp:.*2$' "/proc/$id/status" || fail "system calls are not filtered"
touch /home/there /tmp/there
for path in /home/there /root/inside.sh /tmp/there; do
  if nsenter -t "$id" -m test -e "$path"; then fail "it sees $path"; fi
done
if nsenter -t "$id" -m -S 65534 touch /usr/x /etc/quern/x 2>/dev/null; then fail "it may write to the system"; fi
[[ " $(systemctl show -P SystemCallFilter quern) " == *" sched_setaffinity "* ]] || fail "compute threads may not choose their CPU"
systemd-analyze security --no-pager quern | tail -1

say "its folders"
for path in /var/lib/quern /var/cache/quern/prefix /var/log/quern/audit.log; do [ -e "$path" ] || fail "there is no $path"; done
grep -q '"who":"unit"' /var/log/quern/audit.log || fail "no audit line"

say "a batch"
for i in $(seq 40); do
  printf '{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"model":"quern-tiny","messages":[{"role":"user","content":"Count from %d."}],"max_tokens":32,"ignore_eos":true}}\n' "$i" "$i"
done >/tmp/in.jsonl
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
file=$(ask "$base/files" -F purpose=batch -F file=@/tmp/in.jsonl | field id) || fail "no upload"
batch=$(ask "$base/batches" -H 'Content-Type: application/json' -d "{\"input_file_id\":\"$file\",\"endpoint\":\"/v1/chat/completions\",\"completion_window\":\"24h\"}" | grep -o '"id":"batch_[^"]*"' | head -1 | cut -d'"' -f4)

say "kill -9 in the middle of it: systemd starts it again, the batch goes on"
kill -9 "$(pid)"
for _ in $(seq 100); do
  [ "$(pid)" != "$id" ] && [ "$(systemctl is-active quern)" = active ] && break
  sleep 0.1
done
curl -sf http://127.0.0.1:9090/readyz >/dev/null || fail "it is not ready again"
[ "$(systemctl show -P NRestarts quern)" = 1 ] || fail "restarts: $(systemctl show -P NRestarts quern)"
for _ in $(seq 300); do
  ask "$base/batches/$batch" >/tmp/batch
  grep -q '"status":"completed"' /tmp/batch && break
  sleep 0.2
done
grep -q '"completed":40' /tmp/batch || fail "the batch: $(cat /tmp/batch)"
lines=$(ask "$base/files/$(field output_file_id </tmp/batch)/content" | grep -c '"status_code":200')
[ "$lines" = 40 ] || fail "$lines of 40 lines were answered"

say "reload"
settings after
systemctl reload quern || fail "it does not reload"
for _ in $(seq 50); do chat after >/dev/null 2>&1 && break; sleep 0.1; done
chat after >/dev/null || fail "the alias is not there after the reload"
echo 'listen: [' >/etc/quern/quern.yaml
systemctl reload quern || fail "reload of a bad file"
sleep 0.5
chat after >/dev/null || fail "a bad file changed something"
journalctl --no-pager -u quern | grep -i 'reload\|configuration\|settings' | tail -2
settings after

say "drains: a stream under way is whole when systemctl stop returns"
chat quern-tiny 900 ',"stream":true,"ignore_eos":true' >/tmp/stream &
client=$!
for _ in $(seq 100); do [ -s /tmp/stream ] && break; sleep 0.02; done
kill -0 "$client" || fail "the stream was too short to drain"
systemctl stop quern || fail "it does not stop"
wait "$client" || fail "the stream was cut"
grep -q '\[DONE\]' /tmp/stream || fail "the stream has no end"
[ "$(systemctl show -P Result quern)" = success ] || fail "it ended with $(systemctl show -P Result quern)"

say "what it kept is there at the next start"
systemctl start quern || fail "no second start"
ask "$base/batches/$batch" | grep -q '"status":"completed"' || fail "the batch is gone"
systemctl stop quern

say "a mistake in the configuration is not tried again"
echo 'listen: [' >/etc/quern/quern.yaml
if systemctl start quern 2>/dev/null; then fail "it started"; fi
sleep 3
[ "$(systemctl is-active quern)" = failed ] || fail "it is tried again"
journalctl --no-pager -u quern -n 4

say "a socket in /run/quern, for a proxy of another user"
printf 'listen: unix:/run/quern/quern.sock\nbuiltin: true\n' >/etc/quern/quern.yaml
systemctl reset-failed quern
proxy() { setpriv --reuid www-data --regid www-data --clear-groups curl -sf --unix-socket /run/quern/quern.sock http://localhost/readyz >/dev/null; }
systemctl start quern || fail "no start with a socket"
curl -sf --unix-socket /run/quern/quern.sock http://localhost/readyz >/dev/null || fail "the socket does not answer"
if proxy; then fail "everybody may use the socket"; fi
printf '[Service]\nUMask=0007\nGroup=www-data\n' >/etc/systemd/system/quern.service.d/proxy.conf
systemctl daemon-reload
systemctl restart quern || fail "no start with a group"
proxy || fail "the proxy may not use the socket: $(stat -c '%A %u %g' /run/quern /run/quern/quern.sock)"
systemctl stop quern
[ ! -e /run/quern ] || fail "the socket stays"
say done
