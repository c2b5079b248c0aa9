// Writes pretok.jsonl: how JavaScript's own regular expressions cut texts.
//
//   node pretok.mjs > pretok.jsonl                  (made with Node 20.20, Unicode 17)
//   node pretok.mjs texts.jsonl > elsewhere.jsonl   (one JSON string a line)
//
// Each line is {"pre": name, "text": text, "pieces": [...]}. The patterns are
// those of the models' tokenizer.json files, in the order they are applied. The
// texts here hold no character newer than Unicode 15, which is what Go knows.
import { readFileSync } from "node:fs";

const contraction = String.raw`'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]`;
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const rest = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const cl100k = (n) =>
  contraction + String.raw`|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}${n}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + rest;
const U = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const L = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const o200k = (n, tail, U_ = U, L_ = L, after = "[\\r\\n/]*") =>
  String.raw`[^\r\n\p{L}\p{N}]?${U_}*${L_}+${tail}|[^\r\n\p{L}\p{N}]?${U_}+${L_}*${tail}|` +
  String.raw`\p{N}${n}| ?[^\s\p{L}\p{N}]+${after}|` + rest;
const opt = `(?:${contraction})?`;
const noHan = (s) => `[${s}--\\p{Script=Han}]`;
const deepseek = (after) =>
  String.raw`[!"#$%&'()*+,\-.\/:;<=>?@\[\\\]^_\x60{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+` + after;
const kanaHan = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
const eastAsian = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";

// The letters DeepSeek LLM spells out.
const cased =
  "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293" +
  "\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C" +
  "\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5" +
  "\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77" +
  "\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59" +
  "\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC" +
  "\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107" +
  "\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139" +
  "\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE" +
  "\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E" +
  "\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\u{10400}-\u{1044F}" +
  "\u{104B0}-\u{104D3}\u{104D8}-\u{104FB}\u{10C80}-\u{10CB2}\u{10CC0}-\u{10CF2}" +
  "\u{118A0}-\u{118DF}\u{1E900}-\u{1E943}";

const patterns = {
  "default": [String.raw`[\p{P}$+<=>^~|]+`, gpt2, String.raw`\p{N}+`, "[0-9][0-9][0-9]"],
  "gpt-2": [gpt2],
  "llama-bpe": [cl100k("{1,3}")],
  "jais-2": [
    contraction + String.raw`|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|` +
      [512, 256, 128, 64, 32, 16, 8, 4].map((n) => String.raw`\s{${n}}(?!\S)|`).join("") + String.raw`\s{1,2}(?!\S)|\s{1}`,
  ],
  "minicpm5": [String.raw`\p{N}{1,3}`, cl100k("+")],
  "qwen2": [cl100k("")],
  "qwen35": [
    contraction + String.raw`|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + rest,
  ],
  "bailingmoe": [
    String.raw`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
  ],
  "ufakzeka": [String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + rest],
  "seed-coder": [contraction + String.raw`|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|` + rest],
  "exaone-moe": [
    contraction + String.raw`|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`,
  ],
  "laguna": [String.raw`[^\n]+|[\n]+`, cl100k("")],
  "gpt-4o": [o200k("{1,3}", opt)],
  "tekken": [o200k("", "")],
  "kimi-k2": [String.raw`\p{Script=Han}+|` + o200k("{1,3}", opt, noHan(U), noHan(L), "[\\r\\n]*")],
  "tiny_aya": [String.raw`\d{1,3}(?=(?:\d{3})*(?![\p{L}\p{M}\p{Nd}\p{Pc}]))`, o200k("{1,3}", opt)],
  "youtu": [
    "[\uAC00-\uD7A3\u3131-\u318E]+|[\uFF01\u2026\u201C\u201D\u2018\u2019\u2014\uFF1A\uFF1B\uFF0C\u3001-\u303F\uFE30-\uFE4F]+|[\u3105-\u312F]+|" + kanaHan,
    o200k("", opt),
  ],
  "deepseek-llm": [
    "[\\r\\n]", `\\s?[${cased}]+`, "\\s?[!-\\/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+",
    "\\s+$", eastAsian, "\\p{N}+",
  ],
  "deepseek-coder": ["[\\r\\n]", String.raw`\s?\p{L}+`, String.raw`\s?\p{P}+`, eastAsian, String.raw`\p{N}`],
  "deepseek-v3": [String.raw`\p{N}{1,3}`, kanaHan, deepseek("[\\r\\n]*|" + rest)],
  "spark2_5": [String.raw`\p{N}{1,3}`, kanaHan, deepseek(String.raw`|[\r\n]|\s+(?!\S)|\s+`), String.raw`\p{N}`],
  "falcon": [String.raw`[\p{P}$+<=>^~|\x60]+`, gpt2, "[0-9][0-9][0-9]"],
  "starcoder": [String.raw`\p{N}`, gpt2],
  "bloom": [" ?[^(\\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+"],
  "viking": [" ?[^(\\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+", String.raw`\p{N}`],
  "superbpe": [String.raw`\p{N}+`, String.raw`(?=(\d{3})+(?!\d))`],
  "chameleon": [
    "<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", String.raw`([\t\n]|    |  )`,
    String.raw`\p{N}`, String.raw`[\p{P}!-\/:-@\[-\x60{-~]`, gpt2,
  ],
  "gemma4": [String.raw`[^\n]+|[\n]+`],
};

const compile = (source, name) =>
  new RegExp(
    source.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}").replaceAll("\\d", "\\p{Nd}"),
    name === "kimi-k2" ? "gv" : "gu",
  );

function split(text, passes) {
  let pieces = [text];
  for (const re of passes) {
    const next = [];
    for (const p of pieces) {
      let from = 0;
      for (const m of p.matchAll(re)) {
        if (m.index > from) next.push(p.slice(from, m.index));
        if (m[0]) next.push(m[0]);
        from = m.index + m[0].length;
      }
      if (from < p.length) next.push(p.slice(from));
    }
    pieces = next;
  }
  return pieces;
}

const texts = process.argv[2]
  ? readFileSync(process.argv[2], "utf8").trim().split("\n").map((l) => JSON.parse(l))
  : [
      "Hello, world! I'm HERE, you'RE there; they'Ll see 'tis rock'n'roll.",
      "getElementById XMLHttpRequest snake_case SCREAMING_CASE iPhone McDonald's",
      "1 12 123 1234 12345 123456 1234567 3.14159 1,234,567.89 v2.0 4x4 12ab 0xDEADBEEF",
      "\u0661\u0662\u0663\u0664 \uFF11\uFF12\uFF13\uFF14 \u00BD\u00B2\u00B3 \u2167 12\u00BD34 x\u00B2y\u00B3",
      "a  b   c    d     e \t f\t\tg\n\nh\r\n\r\ni \n j  \n  k   \n\n   l ",
      "   leading", "trailing   ", "\n\n\n", "   ", " \u00A0 \u3000\u3000x \u2003\n", "\u0085a\u2028b",
      "x".repeat(3) + " ".repeat(600) + "y" + " ".repeat(700),
      "for (int i = 0; i < n; i++) {\n\tprintf(\"%d\\n\", a[i]);\n}\n\t\t}\n",
      "https://example.com/a/b?c=d&e=f#g ~/x //y /* z */ ``` ~~ $x ^ a|b <|im_start|> </s>",
      "\u4E2D\u6587\u5B57\u7B26\u6E2C\u8A66ABC\u6F22a\u3042\u30AB\u30BF\u30AB\u30CA\u3001\u3002\uFF01\uFF1F\u201C\u201D \u4E00A\u6F22B\u3005",
      "\uD55C\uAD6D\uC5B4 \uBB38\uC7A5\uAC00\uB098\uB2E4ABC \u3131\u3134 \u3105\u3106\u3107",
      "\u0939\u093F\u0928\u094D\u0926\u0940 \u092D\u093E\u0937\u093E\u0964 \u0BA4\u0BAE\u0BBF\u0BB4\u0BCD \u0E44\u0E17\u0E22\u0E20\u0E32\u0E29\u0E32\u0E48",
      "\u0627\u0644\u0639\u0631\u0628\u064A\u0629\u060C \u05E2\u05D1\u05E8\u05D9\u05EA \u0395\u03BB\u03BB\u03AC\u03B4\u03B1 \u0391\u0392\u0393 \u0430\u0431\u0412\u0413",
      "e\u0301E\u0301 Z\u0337\u0321a\u0338l \u0301x \u0301\u0301 \u01C5\u01C8aB \u02B0\u02B7A \u00AA\u00BA",
      "\u{1F999}\u{1F680} \u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u{1F44D}\u{1F3FD} \u2764\uFE0F \u{1D49C}\u{1D4D1} \u{10400}\u{10428}",
      "\u0000\u0001\u0007\u001B[0m\u007F\u200B\uFEFF\u00AD\u0378\uE000\uFFFD",
      "\u20AC\u00A3 \u2260\u2264 \u2192 \u2026\u2014\u2013 'S '\u017F \u2019s don\u2019t 'LL 've",
      "IMGIMGABCDZ IMGIMGAZ IMGIMGABCDEZ <sentinel:12> <sentinel:> IMGIMG",
      "\u00C0\u00C9\u00CE \u00C9cOlE \u00E9cole \u1E9E\u00DF STRASSEn ABCdefGHI aBCd A1B2c3",
    ];

for (const [pre, sources] of Object.entries(patterns)) {
  const passes = sources.map((s) => compile(s, pre));
  for (const text of texts) console.log(JSON.stringify({ pre, text, pieces: split(text, passes) }));
}
