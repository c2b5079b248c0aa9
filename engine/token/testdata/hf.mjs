// Writes how Hugging Face's tokenizer encodes and decodes texts, for
// tokenizers of every kind put together from published vocabularies.
//
//   quern inspect --json ggml-vocab-NAME.gguf > DIR/NAME.json    for the six below
//   npm install --ignore-scripts @huggingface/transformers@4.3.1 in DIR
//   cp hf.mjs DIR && cd DIR
//   node hf.mjs FIXTURES OUT LINES TOKENS
//
// FIXTURES is shared/fixtures. One file is written to OUT for each tokenizer:
// {"tokenizer": …, "config": …, "texts": [[text, ids, decoded], …]}. TOKENS > 0
// cuts vocabularies to about so many tokens. hf/*.json here were made with 60
// lines and 400 tokens, Node 20.20; all agree on 1000 lines and whole
// vocabularies too. Set QUERN_HF=OUT to test with those.
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const [fixtures, out, lines, limit] = [process.argv[2], process.argv[3], +process.argv[4], +process.argv[5]];
const meta = (name) => JSON.parse(readFileSync(name + ".json")).metadata;

// Texts: fragments that tokenizers disagree on, strung together at random. No
// character is newer than Unicode 15. JavaScript's library differs from the
// one in Rust, which quern follows, in a few things that are left out: \\s holds
// U+FEFF but not U+0085, a last sigma has a lower case of its own, digits are
// ASCII, Metaspace never splits, and Split only isolates or removes.
const fragments = [
  "Hello", "hello", " world", "WORLD", "don't", "I'LL", "we've", "it's", "'", "''", "’s", "1", "12", "123", "1234567", "3.14", "1,000",
  " ", "  ", "   ", "\n", "\n\n", " \n", "\t", "\r\n", "\u00a0", "\u3000", "\u200b", "\u2009x", ".", "...", "!?", "(", ")", "[x]", "{}", "<", ">", "</s", "|",
  "_", "a_b", "__init__", "==", "!=", "->", "//", "/* */", "$x", "#1", "@me", "%d", "^", "~", "`code`", "\\n", "http://a.b/c?d=e&f", "x@y.zz",
  "é", "e\u0301", "ﬁ", "Å", "A\u030a", "ß", "ſ", "İ", "ı", "Straße", "naïve", "façade", "Ünïcödé", "Ñ", "œ", "²", "½", "Ⅷ", "①", "٣", "१२", "๑",
  "中文", "中文字符測試", "日本語のテスト", "カタカナ", "ｶﾞ", "한국어", "각", "ᄀ", "العربية", "שלום", "हिन्दी", "ไทย", "Привет", "МИР", "Ελληνικά", "ΑΣΑ", "тест",
  "😀", "👨‍👩‍👧", "🇩🇪", "✨", "❤️", "→", "∑", "€", "£", "™", "©", "…", "“q”", "‘q’", "«x»", "—", "–", "¿", "、", "。", "！", "（", "ﷺ",
  "the", " the", "The", "ing", "token", "izer", "ization", "antidisestablishmentarianism", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "xyzzy", "qwrtpsdfg",
  "\u0000", "\u0001", "\u007f", "\u00ad", "\ufffd", "\u2028", "\u202e", "\u{10ffff}", "\u{e000}", "▁", "▁▁x", "Ġ", "Ċ", "##ing", "<0x41>",
  "<s>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<|endoftext|>", "<|x|>", " <|x|> ", "<tool>", "  <tool>  ", "<norm>", "a<norm>b", "<word>", "x<word>", " <word>.", "<lst> ", " <rst> y",
];
let seed = 42;
const random = (n) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), Math.floor((seed / 2 ** 32) * n));
const texts = [...fragments];
while (texts.length < lines) {
  let s = "";
  for (let n = 1 + random(12); n > 0; n--) s += fragments[random(fragments.length)] + (random(3) ? "" : " ");
  texts.push(s);
}
while (texts.length > lines) texts.splice(random(texts.length), 1);

// Vocabularies.
const added = (content, id, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

// merges whose three tokens are in vocab.
function cut(tokens, merges, keep) {
  if (!limit) return [tokens, merges];
  const have = new Set(tokens.filter(keep));
  const kept = [];
  for (const [l, r] of merges) {
    if (have.size >= limit + 256) break;
    if (have.has(l) && have.has(r)) { have.add(l + r); kept.push([l, r]); }
  }
  return [tokens.filter((t) => have.has(t)), kept];
}
const index = (tokens) => Object.fromEntries(tokens.map((t, i) => [t, i]));

function bytes(name) {
  const m = meta(name);
  const n = m["tokenizer.ggml.tokens"].length;
  const special = m["tokenizer.ggml.token_type"];
  const tokens = m["tokenizer.ggml.tokens"].filter((t, i) => special[i] === 1 && i < n);
  const merges = m["tokenizer.ggml.merges"].map((x) => { const i = x.indexOf(" ", 1); return [x.slice(0, i), x.slice(i + 1)]; });
  return cut(tokens, merges, (t) => [...t].length === 1);
}

// SentencePiece's vocabularies as Hugging Face converts them: every pair that
// makes a token merges, in order of the token's score.
function pieces(name) {
  const m = meta(name);
  const kinds = m["tokenizer.ggml.token_type"], scores = m["tokenizer.ggml.scores"];
  let tokens = m["tokenizer.ggml.tokens"].filter((t, i) => kinds[i] === 1 || kinds[i] === 6 || i < 3);
  const rank = new Map(m["tokenizer.ggml.tokens"].map((t, i) => [t, -scores[i]]));
  const id = index(tokens);
  let merges = [];
  for (const t of tokens) {
    if (/^<0x..>$/.test(t) || t in { "<unk>": 1, "<s>": 1, "</s>": 1 }) continue;
    const c = [...t], local = [];
    for (let i = 1; i < c.length; i++) {
      const l = c.slice(0, i).join(""), r = c.slice(i).join("");
      if (l in id && r in id) local.push([l, r]);
    }
    local.sort((a, b) => id[a[0]] - id[b[0]] || id[a[1]] - id[b[1]]);
    merges.push(...local);
  }
  merges = merges.map((x, i) => [x, i]).sort((a, b) => rank.get(a[0].join("")) - rank.get(b[0].join("")) || a[1] - b[1]).map((x) => x[0]);
  return cut(tokens, merges, (t) => /^<.*>$/.test(t) || ([...t].length === 1 && id[t] % (limit ? 8 : 1) === 0) || /^[ -~▁]$/.test(t));
}

const split = (Regex, behavior = "Isolated", invert = false) => ({ type: "Split", pattern: { Regex }, behavior, invert });
const byteLevel = (use_regex = true, add_prefix_space = false) => ({ type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex });
const sequence = (kind, list) => ({ type: "Sequence", [kind]: list });
const template = (before, after) => ({
  type: "TemplateProcessing",
  single: [...before.map(([id]) => ({ SpecialToken: { id, type_id: 0 } })), { Sequence: { id: "A", type_id: 0 } }, ...after.map(([id]) => ({ SpecialToken: { id, type_id: 0 } }))],
  pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: Object.fromEntries([...before, ...after].map(([id, n]) => [id, { id, ids: [n], tokens: [id] }])),
});
const spm = sequence("decoders", [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 }]);
const llama3 = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const gpt4o = String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const all = {};
function add(name, tokens, model, rest, config = {}, extra = []) {
  let n = tokens.length;
  const ids = index(tokens);
  const list = extra.map(([t, more]) => added(t, t in ids ? ids[t] : n++, more));
  const id = (t) => list.find((a) => a.content === t)?.id ?? ids[t];
  all[name] = {
    tokenizer: { version: "1.0", added_tokens: list, normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...rest(id), model },
    config: { clean_up_tokenization_spaces: false, ...config },
  };
}
const bpe = (vocab, merges, more = {}) => ({ type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab: index(vocab), merges, ...more });
const extras = [["<|endoftext|>", {}], ["<|x|>", { lstrip: true, rstrip: true }], ["<tool>", { special: false }], ["<lst>", { special: false, lstrip: true }], ["<rst>", { special: false, rstrip: true }]];

{ // GPT-2's own, merges as texts.
  const [v, m] = bytes("gpt-2");
  add("gpt2", v, bpe(v, m.map((x) => x.join(" "))), () => ({ pre_tokenizer: byteLevel(), decoder: byteLevel(), post_processor: byteLevel() }), {}, extras);
}
{ // Llama 3's form over StarCoder's vocabulary.
  const [v, m] = bytes("starcoder");
  add("llama3", v, bpe(v, m, { ignore_merges: true }), (id) => ({
    pre_tokenizer: sequence("pretokenizers", [split(llama3), byteLevel(false)]), decoder: byteLevel(),
    post_processor: sequence("processors", [byteLevel(false), template([["<|endoftext|>", id("<|endoftext|>")]], [])]),
  }), { bos_token: "<|endoftext|>" }, extras);
  add("gpt4o", v, bpe(v, m), () => ({ pre_tokenizer: sequence("pretokenizers", [split(gpt4o, "Removed", true), byteLevel(false)]), decoder: byteLevel() }), {}, extras);
  // SmolLM's form, with NFC and a token that is matched after it.
  add("smollm", v, bpe(v, m), () => ({
    normalizer: { type: "NFC" }, pre_tokenizer: sequence("pretokenizers", [{ type: "Digits", individual_digits: true }, byteLevel()]), decoder: byteLevel(),
  }), {}, [...extras, ["<norm>", { special: false, normalized: true }]]);
  // Patterns no pass was written for.
  add("pattern", v, bpe(v, m), () => ({
    pre_tokenizer: sequence("pretokenizers", [split(String.raw`[A-Z]+[a-z]*|[0-9]{2}|\s+(?!\S)|\s+`), split("[.!?]+"), split("x", "Removed"), split("-|>|="), byteLevel(false)]), decoder: byteLevel(),
  }), {}, extras);
}
{ // Falcon's form: what follows the byte-level step sees spelled bytes.
  const [v, m] = bytes("falcon");
  add("falcon", v, bpe(v, m), () => ({
    pre_tokenizer: sequence("pretokenizers", [{ type: "Punctuation", behavior: "Contiguous" }, byteLevel(), { type: "Digits", individual_digits: false }, split("[0-9][0-9][0-9]")]), decoder: byteLevel(),
  }), {}, extras);
}
const special = [["<unk>", { normalized: true }], ["<s>", {}], ["</s>", {}]];
{ // Llama 2's form.
  const [v, m] = pieces("llama-spm");
  add("llama2", v, bpe(v, m, { unk_token: "<unk>", fuse_unk: true, byte_fallback: true }), (id) => ({
    normalizer: sequence("normalizers", [{ type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }]),
    post_processor: template([["<s>", id("<s>")]], []), decoder: spm,
  }), { bos_token: "<s>", eos_token: "</s>" }, [["<unk>", {}], ...special.slice(1), ["<tool>", { special: false }]]);
  // The same without bytes, as Unigram with scores by rank.
  const plain = v.filter((t) => !/^<0x..>$/.test(t));
  const scored = plain.map((t, i) => [t, i < 3 ? 0 : -(4 + Math.log(i + 1) * 1.25 + (i % 7) / 16)]);
  add("t5", plain, { type: "Unigram", unk_id: 0, vocab: scored, byte_fallback: false }, (id) => ({
    normalizer: sequence("normalizers", [{ type: "NFKC" }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }]),
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true }, decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    post_processor: template([], [["</s>", id("</s>")]]),
  }), { eos_token: "</s>", unk_token: "<unk>" }, [["<unk>", {}], ...special.slice(1), ["<norm>", { special: false, normalized: true }]]);
  add("unigram-lower", plain, { type: "Unigram", unk_id: 0, vocab: scored, byte_fallback: false }, () => ({
    normalizer: sequence("normalizers", [{ type: "NFD" }, { type: "StripAccents" }, { type: "Lowercase" }, { type: "Strip", strip_left: true, strip_right: true }]),
    pre_tokenizer: sequence("pretokenizers", [{ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", add_prefix_space: true }]), decoder: { type: "Metaspace", replacement: "▁", add_prefix_space: true },
  }), { unk_token: "<unk>" }, [["<unk>", {}], ...special.slice(1)]);
}
{ // Phi 3's form; Metaspace only at the start of the text.
  const [v, m] = pieces("phi-3");
  add("phi3", v, bpe(v, m, { unk_token: "<unk>", fuse_unk: true, byte_fallback: true }), () => ({
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false }, decoder: spm,
  }), { bos_token: "<s>" }, [["<unk>", {}], ["<s>", {}], ["</s>", { rstrip: true }], ["<|x|>", { rstrip: true }]]);
}
{ // BERT's two.
  const m = meta("bert-bge"), kinds = m["tokenizer.ggml.token_type"];
  let v = m["tokenizer.ggml.tokens"].map((t, i) => (kinds[i] !== 1 ? t : t.startsWith("▁") ? t.slice(1) : "##" + t));
  if (limit) v = v.filter((t, i) => /^\[(PAD|UNK|CLS|SEP|MASK)\]$/.test(t) || /^(##)?.$/u.test(t) && i % 5 < 3 || /^(##)?[a-z]{2,3}$/.test(t) && i % 7 === 0);
  const own = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((t) => [t, t === "[MASK]" ? { lstrip: true } : {}]);
  const wp = { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: index(v) };
  for (const [name, norm] of [["bert-uncased", { lowercase: true, strip_accents: null }], ["bert-cased", { lowercase: false, strip_accents: null }]])
    add(name, v, wp, (id) => ({
      normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, ...norm }, pre_tokenizer: { type: "BertPreTokenizer" },
      post_processor: name === "bert-cased" ? { type: "BertProcessing", sep: ["[SEP]", id("[SEP]")], cls: ["[CLS]", id("[CLS]")] } : template([["[CLS]", id("[CLS]")]], [["[SEP]", id("[SEP]")]]),
      decoder: { type: "WordPiece", prefix: "##", cleanup: false },
    }), { cls_token: "[CLS]", sep_token: "[SEP]", unk_token: "[UNK]" }, own);
}
{ // Whisper's, as it is.
  const dir = fixtures + "/whisper/hf_tiny/";
  const read = (f) => JSON.parse(readFileSync(dir + f));
  if (!limit) all.whisper = { tokenizer: read("tokenizer.json"), config: { ...read("tokenizer_config.json"), clean_up_tokenization_spaces: false } };
}

mkdirSync(out, { recursive: true });
for (const [name, { tokenizer, config }] of Object.entries(all)) {
  const t = new Tokenizer(structuredClone(tokenizer), structuredClone(config));
  const pre = JSON.stringify(tokenizer.pre_tokenizer);
  const fair = (s) => !(/"Digits"/.test(pre) && /[^\P{N}0-9]/u.test(s)) && !(/"Metaspace"/.test(pre) && !/"split":false/.test(pre) && s.includes("▁"))
    && !(tokenizer.model.type === "Unigram" && s.includes("aaaaaaaa")); // ways that cost the same
  const rows = texts.filter(fair).map((text) => {
    const ids = t.encode(text).ids;
    return [text, ids, ids.length ? t.decode(ids, { skip_special_tokens: true }) : ""];
  });
  writeFileSync(`${out}/${name}.json`, JSON.stringify({ tokenizer, config }).slice(0, -1) + ',"texts":[\n' + rows.map((r) => JSON.stringify(r)).join(",\n") + "\n]}\n");
}
