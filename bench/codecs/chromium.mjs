// Plays what quern's writers make in headless Chromium: MP3, AAC, M4A and WAV, the latter
// two also as streams: M4A in fragments, WAV with unknown sizes (0xFFFFFFFF). Each must
// play to its end in an <audio> element and have the right duration.
//
//     go run ./bench/codecs -samples FOLDER && node bench/codecs/chromium.mjs FOLDER
//
// Exit status: 0 all play, 1 one does not, 2 there is no Chromium. CHROMIUM names the
// program if it is none of the usual.

import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const samples = [
  { name: "speech.mp3", type: "audio/mpeg", slack: 0.12 },
  { name: "speech.wav", type: "audio/wav", slack: 0.01 },
  { name: "streamed.wav", type: "audio/wav", slack: 0.01 },
  { name: "speech.aac", type: "audio/aac", slack: 0.12 },
  { name: "speech.m4a", type: "audio/mp4", slack: 0.01 },
  { name: "streamed.m4a", type: "audio/mp4", slack: 0.12 },
];

const page = `<!DOCTYPE html><title>waiting</title><script>
const play = (src) => new Promise((done) => {
  const audio = new Audio(src), start = performance.now();
  const end = (what) => done({ src, what, duration: audio.duration, at: audio.currentTime,
    took: (performance.now() - start) / 1000, error: audio.error && audio.error.message });
  audio.onended = () => end("ended");
  audio.onerror = () => end("error");
  audio.play().catch((e) => end(String(e)));
  setTimeout(() => end("timeout"), 20000);
});
(async () => {
  const results = [];
  for (const src of ${JSON.stringify(samples.map((s) => s.name))}) results.push(await play(src));
  await fetch("/result", { method: "POST", body: JSON.stringify(results) });
})();
</script>`;

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node chromium.mjs FOLDER");
  process.exit(1);
}
const { seconds } = JSON.parse(readFileSync(join(folder, "samples.json"), "utf8"));
const browser = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].find(
  (p) => p && spawnSync(p, ["--version"], { stdio: "ignore" }).status === 0,
);
if (!browser) {
  console.error("no Chromium");
  process.exit(2);
}

let report;
const reported = new Promise((resolve) => (report = resolve));
const server = createServer((req, res) => {
  const sample = samples.find((s) => req.url === "/" + s.name);
  if (req.url === "/") {
    res.writeHead(200, { "Content-Type": "text/html" }).end(page);
  } else if (sample) {
    // In chunks and without a length, as a speech server answers.
    res.writeHead(200, { "Content-Type": sample.type });
    res.end(readFileSync(join(folder, sample.name)));
  } else if (req.url === "/result") {
    let body = "";
    req.on("data", (d) => (body += d)).on("end", () => {
      res.end();
      report(JSON.parse(body));
    });
  } else {
    res.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const profile = mkdtempSync(join(tmpdir(), "quern-chromium-"));
const child = spawn(
  browser,
  ["--headless", "--no-sandbox", "--disable-gpu", "--mute-audio", "--autoplay-policy=no-user-gesture-required",
    `--user-data-dir=${profile}`, "--remote-debugging-port=0", `http://127.0.0.1:${server.address().port}/`],
  { stdio: "ignore" },
);
const exited = new Promise((resolve) => child.once("exit", resolve));
const results = await Promise.race([
  reported,
  exited.then(() => []),
  new Promise((resolve) => setTimeout(() => resolve([]), 90000)),
]);
child.kill();
await exited;
server.close();
server.closeAllConnections();
rmSync(profile, { recursive: true, force: true, maxRetries: 5 });

let good = results.length === samples.length;
if (!good) console.log("Chromium did not report");
for (const [i, r] of results.entries()) {
  const ok = r.what === "ended" && Math.abs(r.at - seconds) <= samples[i].slack && Math.abs(r.duration - seconds) <= samples[i].slack;
  good &&= ok;
  console.log(`${ok ? "ok  " : "FAIL"} ${r.src}: ${r.what}, duration ${r.duration} s of ${seconds}, stopped at ${r.at} s after ${r.took.toFixed(2)} s${r.error ? ", " + r.error : ""}`);
}
process.exit(good ? 0 : 1);
