import type { Kind } from '../models'

// A Use is what the examples are for.
export interface Use {
  base: string // with /v1
  key: boolean // the server wants one
  model: string
  kind: Kind
  system: string
  sampling: Record<string, unknown> // fields of the request beside those an example needs
}

// A Snippet is text to copy: a command, a program, or the lines of a configuration.
export interface Snippet {
  title: string
  note?: string
  text: string
}

// A Task is one endpoint, in the words of the OpenAI packages. Those it has no words for
// are asked over plain HTTP.
interface Task {
  path: string
  body: (u: Use) => Record<string, unknown>
  python?: string // the call, its arguments, and what shows the result
  js?: string
  show: [python: string, js: string]
  out?: string // the answer is this file
  in?: string // a form with this file
}

const messages = (u: Use) => [...(u.system ? [{ role: 'system', content: u.system }] : []), { role: 'user', content: 'What is the capital of France?' }]

const tasks: Record<Kind, Task> = {
  chat: {
    path: '/chat/completions',
    body: (u) => ({ messages: messages(u), ...u.sampling }),
    python: 'chat.completions.create',
    js: 'chat.completions.create',
    show: ['print(answer.choices[0].message.content)', 'console.log(answer.choices[0].message.content)'],
  },
  completion: {
    path: '/completions',
    body: (u) => ({ prompt: 'The capital of France is', max_tokens: 32, ...u.sampling }),
    python: 'completions.create',
    js: 'completions.create',
    show: ['print(answer.choices[0].text)', 'console.log(answer.choices[0].text)'],
  },
  embedding: {
    path: '/embeddings',
    body: () => ({ input: 'Paris is the capital of France.' }),
    python: 'embeddings.create',
    js: 'embeddings.create',
    show: ['print(len(answer.data[0].embedding))', 'console.log(answer.data[0].embedding.length)'],
  },
  rerank: {
    path: '/rerank',
    body: () => ({ query: 'capital of France', documents: ['Paris is the capital of France.', 'Rome is in Italy.'] }),
    show: ['print(answer["results"])', 'console.log(answer.results)'],
  },
  classification: {
    path: '/classify',
    body: () => ({ input: 'What a lovely day.' }),
    show: ['print(answer["data"])', 'console.log(answer.data)'],
  },
  speech: {
    path: '/audio/speech',
    body: () => ({ voice: 'alloy', input: 'Hello there.' }),
    python: 'audio.speech.create',
    js: 'audio.speech.create',
    show: ['answer.write_to_file("hello.mp3")', 'await writeFile("hello.mp3", Buffer.from(await answer.arrayBuffer()))'],
    out: 'hello.mp3',
  },
  transcription: {
    path: '/audio/transcriptions',
    body: () => ({}),
    python: 'audio.transcriptions.create',
    js: 'audio.transcriptions.create',
    show: ['print(answer.text)', 'console.log(answer.text)'],
    in: 'recording.mp3',
  },
}

const literal = (v: unknown) => JSON.stringify(typeof v === 'string' ? v.toWellFormed() : v)
const shell = (s: string) => `'${s.replaceAll("'", `'\\''`)}'`
const secret = 'QUERN_API_KEY'

export function programs(u: Use): Snippet[] {
  const task = tasks[u.kind]
  const body = { model: u.model, ...task.body(u) }
  return [
    { title: 'curl', text: curl(u, task, body) },
    { title: 'Python', note: task.python ? 'pip install openai' : 'pip install requests', text: python(u, task, body) },
    { title: 'JavaScript', note: task.js ? 'npm install openai' : undefined, text: javascript(u, task, body) },
    { title: 'Go', note: 'only the standard library', text: golang(u, task, body) },
  ]
}

function curl(u: Use, task: Task, body: object): string {
  const lines = [`curl ${u.base}${task.path}`]
  if (u.key) lines.push(`-H "Authorization: Bearer $${secret}"`)
  if (task.in) {
    lines.push(`-F file=@${task.in}`, ...Object.entries(body).map(([k, v]) => '-F ' + shell(`${k}=${v}`)))
  } else {
    lines.push("-H 'Content-Type: application/json'", '-d ' + shell(literal(body)))
  }
  if (task.out) lines.push('-o ' + task.out)
  return lines.join(' \\\n  ')
}

// pythonic spells a JSON value for Python.
const pythonic = (v: unknown): string => {
  if (v === true) return 'True'
  if (v === false) return 'False'
  if (v === null) return 'None'
  if (Array.isArray(v)) return `[${v.map(pythonic).join(', ')}]`
  if (typeof v === 'object') return `{${Object.entries(v as object).map(([k, x]) => `${literal(k)}: ${pythonic(x)}`).join(', ')}}`
  return literal(v)
}

// Fields that the OpenAI packages do not know go in beside those that they do.
const known = new Set(['model', 'messages', 'prompt', 'input', 'voice', 'temperature', 'top_p', 'max_tokens', 'seed', 'stop', 'presence_penalty', 'frequency_penalty'])

function python(u: Use, task: Task, body: Record<string, unknown>): string {
  const key = u.key ? `os.environ["${secret}"]` : '"none"'
  const importOS = u.key ? 'import os\n\n' : ''
  if (!task.python) {
    const headers = u.key ? `,\n    headers={"Authorization": "Bearer " + ${key}}` : ''
    return `${importOS}import requests\n\nanswer = requests.post(\n    ${literal(u.base + task.path)},\n    json=${pythonic(body)}${headers},\n).json()\n${task.show[0]}\n`
  }
  const args = Object.entries(body).filter(([k]) => known.has(k)).map(([k, v]) => `    ${k}=${pythonic(v)},`)
  const extra = Object.fromEntries(Object.entries(body).filter(([k]) => !known.has(k)))
  if (Object.keys(extra).length) args.push(`    extra_body=${pythonic(extra)},`)
  if (task.in) args.push(`    file=open("${task.in}", "rb"),`)
  return `${importOS}from openai import OpenAI\n\nclient = OpenAI(base_url=${literal(u.base)}, api_key=${key})\nanswer = client.${task.python}(\n${args.join('\n')}\n)\n${task.show[0]}\n`
}

function javascript(u: Use, task: Task, body: Record<string, unknown>): string {
  const key = u.key ? `process.env.${secret}` : '"none"'
  const fields = Object.entries(body).map(([k, v]) => `  ${k}: ${literal(v)},`)
  if (!task.js) {
    const bearer = u.key ? `\n    Authorization: \`Bearer \${${key}}\`,` : ''
    return `const response = await fetch(${literal(u.base + task.path)}, {\n  method: "POST",\n  headers: {\n    "Content-Type": "application/json",${bearer}\n  },\n  body: JSON.stringify(${literal(body)}),\n});\nconst answer = await response.json();\n${task.show[1]};\n`
  }
  const imports = ['import OpenAI from "openai";']
  if (task.in) {
    imports.push('import { createReadStream } from "node:fs";')
    fields.push(`  file: createReadStream("${task.in}"),`)
  }
  if (task.out) imports.push('import { writeFile } from "node:fs/promises";')
  return `${imports.join('\n')}\n\nconst client = new OpenAI({ baseURL: ${literal(u.base)}, apiKey: ${key} });\nconst answer = await client.${task.js}({\n${fields.join('\n')}\n});\n${task.show[1]};\n`
}

function golang(u: Use, task: Task, body: Record<string, unknown>): string {
  const imports = ['"fmt"', '"io"', '"log"', '"net/http"']
  const before: string[] = []
  let kind = '"application/json"'
  if (task.in) {
    imports.push('"bytes"', '"mime/multipart"', '"os"')
    kind = 'form.FormDataContentType()'
    before.push(
      `f, err := os.Open("${task.in}")`, 'if err != nil {', '\tlog.Fatal(err)', '}',
      'var body bytes.Buffer', 'form := multipart.NewWriter(&body)',
      ...Object.entries(body).map(([k, v]) => `form.WriteField(${literal(k)}, ${literal(String(v))})`),
      `part, err := form.CreateFormFile("file", "${task.in}")`, 'if err != nil {', '\tlog.Fatal(err)', '}',
      'io.Copy(part, f)', 'form.Close()',
    )
  } else {
    imports.push('"strings"')
    before.push(`body := strings.NewReader(${literal(literal(body))})`)
  }
  if (u.key && !imports.includes('"os"')) imports.push('"os"')
  const after = task.out
    ? ['out, err := os.Create("' + task.out + '")', 'if err != nil {', '\tlog.Fatal(err)', '}', 'defer out.Close()', 'if _, err := io.Copy(out, res.Body); err != nil {', '\tlog.Fatal(err)', '}', 'fmt.Println(res.Status)']
    : ['answer, err := io.ReadAll(res.Body)', 'if err != nil {', '\tlog.Fatal(err)', '}', 'fmt.Println(res.Status, string(answer))']
  if (task.out && !imports.includes('"os"')) imports.push('"os"')
  const lines = [
    ...before,
    `req, err := http.NewRequest("POST", ${literal(u.base + task.path)}, ${task.in ? '&body' : 'body'})`, 'if err != nil {', '\tlog.Fatal(err)', '}',
    `req.Header.Set("Content-Type", ${kind})`,
    ...(u.key ? [`req.Header.Set("Authorization", "Bearer "+os.Getenv("${secret}"))`] : []),
    'res, err := http.DefaultClient.Do(req)', 'if err != nil {', '\tlog.Fatal(err)', '}', 'defer res.Body.Close()',
    ...after,
  ]
  return `package main\n\nimport (\n${imports.sort().map((i) => '\t' + i).join('\n')}\n)\n\nfunc main() {\n${lines.map((l) => '\t' + l).join('\n')}\n}\n`
}

// configurations are for programs that take the address of an OpenAI server.
export function configurations(u: Use): Snippet[] {
  const key = u.key ? 'YOUR_KEY' : 'none'
  const all: Snippet[] = [
    { title: 'Environment', note: 'for the OpenAI packages and most of what is built on them', text: `export OPENAI_BASE_URL=${shell(u.base)}\nexport OPENAI_API_KEY=${shell(key)}\n` },
  ]
  if (u.kind !== 'chat') return all
  return [
    ...all,
    { title: 'Open WebUI', note: 'in the environment of its container', text: `OPENAI_API_BASE_URL=${u.base}\nOPENAI_API_KEY=${key}\n` },
    { title: 'Continue', note: '~/.continue/config.yaml', text: `models:\n  - name: ${literal(u.model)}\n    provider: openai\n    model: ${literal(u.model)}\n    apiBase: ${literal(u.base)}\n    apiKey: ${literal(key)}\n    roles: [chat, edit]\n` },
    { title: 'aider', text: `OPENAI_API_BASE=${shell(u.base)} OPENAI_API_KEY=${shell(key)} aider --model ${shell('openai/' + u.model)}\n` },
    { title: 'llm', note: 'extra-openai-models.yaml in its folder', text: `- model_id: ${literal(u.model)}\n  model_name: ${literal(u.model)}\n  api_base: ${literal(u.base)}\n` },
  ]
}
