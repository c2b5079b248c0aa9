// Agents without a terminal: Codex over /v1/responses, Cline over /v1/chat/completions. Their
// instructions and tools take more tokens than the built-in model was made for, so CHAT_MODEL
// is a server's whose template shows the last question alone (agents.yaml).
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { BASE, KEY, MODEL, assert, check, done } from '../check.mjs';

const bin = (name) => new URL(`node_modules/.bin/${name}`, import.meta.url).pathname;
const question = 'What is the capital of France?';

// run runs a program in a folder of its own, and returns the lines of JSON that it prints.
function run(home, name, args) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, HOME: home, CODEX_HOME: home, QUERN_KEY: KEY };
    const child = execFile(bin(name), args, { cwd: home, env, maxBuffer: 1 << 24 }, (err, stdout, stderr) => {
      if (err) return reject(new Error(`${name}: ${err.message} ${stdout.slice(-300)} ${stderr.slice(-300)}`));
      const events = [];
      for (const line of stdout.split('\n')) {
        try { events.push(JSON.parse(line)); } catch { /* words between them */ }
      }
      resolve(events);
    });
    child.stdin.end();
  });
}

// agent is a check of one agent, in a home that goes with it.
const agent = (name, use) => check(name, async () => {
  const home = mkdtempSync(join(tmpdir(), 'agent-'));
  try {
    await use(home);
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }); // what the agent left running may still write there
  }
});

await agent('codex: a question, and one more in its thread', async (home) => {
  writeFileSync(join(home, 'config.toml'), `model = "${MODEL}"
model_provider = "quern"
[model_providers.quern]
name = "quern"
base_url = "${BASE}"
env_key = "QUERN_KEY"
wire_api = "responses"
`);
  const said = (events) => events.filter((e) => e.item?.type === 'agent_message').map((e) => e.item.text);
  const first = await run(home, 'codex', ['exec', '--json', '--skip-git-repo-check', '-s', 'read-only', question]);
  assert.deepEqual(said(first).map((t) => /Paris/.test(t)), [true]);
  const ended = first.find((e) => e.type === 'turn.completed');
  assert(ended.usage.input_tokens > 0 && ended.usage.output_tokens > 0);
  const thread = first.find((e) => e.type === 'thread.started').thread_id;
  const second = await run(home, 'codex', ['exec', 'resume', '--json', '--skip-git-repo-check', thread, 'What is the capital of Italy?']);
  assert.match(said(second).at(-1), /Rome/);
});

await agent('cline: a question', async (home) => {
  await run(home, 'cline', ['auth', '-p', 'openai-compatible', '-k', KEY, '-m', MODEL, '-b', BASE]);
  const events = await run(home, 'cline', ['--json', '-P', 'openai-compatible', '--retries', '1', '-s', 'You answer in one sentence.', question]);
  const end = events.findLast((e) => e.type === 'run_result');
  assert.equal(end.finishReason, 'completed');
  assert.match(end.text, /Paris/);
  assert(end.usage.inputTokens > 0 && end.usage.outputTokens > 0);
});
done();
