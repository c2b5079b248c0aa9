import * as db from './db'
import { take } from './state'
import { newID, type Attached, type Call, type Conversation, type Message, type Settings } from './types'

// What is exported is JSON: {"format": "quern-conversations", "version": 1,
// "conversations": [{…, "messages": […]}]}.
const format = 'quern-conversations'

// mostImport bounds the file that is read.
const mostImport = 256 << 20

// exported is the file of one conversation, or of all.
export async function exported(id?: string): Promise<Blob> {
  const all = (await db.conversations()).filter((c) => id === undefined || c.id === id)
  const messages = id === undefined ? await db.allMessages() : await db.messagesOf(id)
  const conversations = all.map((c) => ({
    ...c,
    messages: messages.filter((m) => m.conversation === c.id).map(({ conversation: _, ...m }) => m),
  }))
  return new Blob([JSON.stringify({ format, version: 1, conversations }, null, 1)], { type: 'application/json' })
}

// imported takes the conversations of a file as new ones, and returns how many. It throws
// an Error that says what is wrong, and then took none.
export async function imported(file: File): Promise<number> {
  if (file.size > mostImport) throw new Error(`${file.name} is larger than ${mostImport >> 20} MB; export fewer conversations into a file.`)
  let data
  try {
    data = JSON.parse(await file.text())
  } catch {
    throw new Error(`${file.name} is not JSON. Choose a file that this page exported.`)
  }
  if (data?.format !== format || !Array.isArray(data.conversations)) throw new Error(`${file.name} has no conversations of this page. Choose a file that it exported.`)
  if (data.version !== 1) throw new Error(`${file.name} was exported by a newer page. Update this server, then import it again.`)
  const conversations: Conversation[] = []
  const messages: Message[] = []
  try {
    for (const c of list(data.conversations)) {
      const id = newID()
      const names = new Map<string, string>()
      for (const m of list(c.messages)) names.set(text(m.id), newID())
      conversations.push({
        id,
        title: text(c.title),
        settings: settings(c.settings),
        leaf: names.get(c.leaf as string) ?? null,
        created: number(c.created),
        changed: number(c.changed),
      })
      for (const m of list(c.messages)) messages.push(message(m, id, names))
    }
  } catch (error) {
    throw new Error(`${file.name} is damaged: ${(error as Error).message}. Nothing was imported.`)
  }
  await take(conversations, messages)
  return conversations.length
}

type Raw = Record<string, unknown>

function message(m: Raw, conversation: string, names: Map<string, string>): Message {
  const role = text(m.role)
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') throw new Error(`there is no role ${role}`)
  const out: Message = { id: names.get(text(m.id))!, conversation, parent: names.get(m.parent as string) ?? null, role, at: number(m.at), text: text(m.text) }
  if (m.files !== undefined) out.files = list(m.files).map((f): Attached => ({ name: text(f.name), kind: f.kind === 'sound' ? 'sound' : 'text', text: text(f.text) }))
  if (m.call !== undefined) out.call = text(m.call)
  if (role !== 'assistant') return out
  out.thinking = text(m.thinking ?? '')
  out.calls = list(m.calls ?? []).map((c): Call => ({ id: text(c.id), name: text(c.name), arguments: text(c.arguments) }))
  if (m.model !== undefined) out.model = text(m.model)
  const states = ['done', 'stopped', 'length', 'failed'] as const
  out.state = states.find((s) => s === m.state) ?? 'stopped'
  if (m.error !== undefined) out.error = { message: text((m.error as Raw).message), code: text((m.error as Raw).code) }
  const s = m.stats as Raw | undefined
  if (s) out.stats = { prompt: number(s.prompt), completion: number(s.completion), first: number(s.first), rate: number(s.rate) }
  return out
}

function settings(raw: unknown): Settings {
  const out: Raw = {}
  for (const [name, value] of Object.entries((raw ?? {}) as Raw)) {
    if (['model', 'system', 'tools'].includes(name)) out[name] = text(value)
    else if (['temperature', 'top_p', 'top_k', 'min_p', 'repeat_penalty', 'max_tokens', 'seed'].includes(name)) out[name] = number(value)
  }
  return out
}

function text(v: unknown): string {
  if (typeof v !== 'string') throw new Error('a text is missing')
  return v
}

function number(v: unknown): number {
  if (typeof v !== 'number' || !Number.isFinite(v)) throw new Error('a number is missing')
  return v
}

function list(v: unknown): Raw[] {
  if (!Array.isArray(v) || v.some((e) => typeof e !== 'object' || e === null)) throw new Error('a list is missing')
  return v
}
