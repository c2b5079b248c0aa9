import { signal } from '@preact/signals'
import { Failure, send } from '../api'
import { current, ofKind } from '../models'
import { values } from '../sse'
import { lockOf, type Chat } from './state'
import { newID, sampling, type Attached, type Message, type Settings } from './types'

// A Chunk of a streamed reply, as far as it is read.
interface Chunk {
  choices: {
    delta: {
      content?: string | null
      reasoning_content?: string
      tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[]
    }
    finish_reason: string | null
  }[]
  usage?: { prompt_tokens: number; completion_tokens: number } | null
  timings?: { predicted_per_second: number }
}

// modelOf is the model that answers in a conversation: its own if the server still has
// it, else the one chosen last.
export const modelOf = (s: Settings) => ofKind('chat').find((m) => m.id === s.model) ?? current.value

// contentOf is what the model reads of a message: its files before its text.
export function contentOf(m: { text: string; files?: Attached[] }): string {
  const files = (m.files ?? []).map((f) => {
    const ticks = '`'.repeat(Math.max(3, ...(f.text.match(/`+/g) ?? []).map((t) => t.length + 1)))
    return f.kind === 'sound' ? `Said in ${f.name}:\n${f.text}` : `${f.name}:\n${ticks}\n${f.text}\n${ticks}`
  })
  return [...files, m.text].filter(Boolean).join('\n\n')
}

function spelled(m: Message) {
  if (m.role === 'tool') return { role: 'tool', tool_call_id: m.call, content: m.text }
  if (m.role === 'user') return { role: 'user', content: contentOf(m) }
  const calls = m.calls?.map((c) => ({ id: c.id, type: 'function', function: { name: c.name, arguments: c.arguments } }))
  return { role: 'assistant', content: m.text || (calls?.length ? null : ''), ...(calls?.length && { tool_calls: calls }) }
}

// request is the body that has the model answer what messages say.
export function request(settings: Settings, messages: Message[]) {
  const tools = settings.tools ? JSON.parse(settings.tools) : []
  return {
    model: modelOf(settings)?.id,
    messages: [...(settings.system ? [{ role: 'system', content: settings.system }] : []), ...messages.map(spelled)],
    stream: true,
    stream_options: { include_usage: true },
    ...sampling(settings),
    ...(tools.length && { tools }),
  }
}

const message = (chat: Chat, parent: string | null, role: Message['role']): Message => ({
  id: newID(), conversation: chat.id, parent, role, at: Date.now(), text: '',
})

// ask adds what the user says after the message parent, tells that it is saved, and has it
// answered.
export async function ask(chat: Chat, parent: string | null, text: string, files: Attached[], saved: () => void) {
  await chat.add({ ...message(chat, parent, 'user'), text, ...(files.length && { files }) })
  saved()
  await reply(chat, chat.leaf.value)
}

// answer adds what tools found, and has the model go on.
export async function answer(chat: Chat, parent: string, results: { call: string; text: string }[]) {
  for (const r of results) {
    const m = { ...message(chat, parent, 'tool'), ...r }
    await chat.add(m)
    parent = m.id
  }
  await reply(chat, parent)
}

// saveEvery is how often a reply is saved while it grows, in milliseconds.
const saveEvery = 1000

// reply has the model answer the path that ends at parent. It returns when the answer
// has ended, however it did: the message tells.
export async function reply(chat: Chat, parent: string | null) {
  if (chat.run.value) return
  const settings = chat.conversation.value.settings
  const m: Message = { ...message(chat, parent, 'assistant'), thinking: '', calls: [], model: modelOf(settings)?.id, state: 'writing' }
  const abort = new AbortController()
  const progress = signal(0)
  chat.run.value = { message: m, progress, stop: () => abort.abort() }
  const keep = () => chat.keep(m)
  const timer = setInterval(keep, saveEvery)
  addEventListener('pagehide', keep)
  const work = async () => {
    await chat.add(m)
    try {
      await stream(m, request(settings, chat.tree.value.path(parent)), abort.signal, () => {
        if (progress.value++ === 0) keep()
      })
    } catch (error) {
      if (abort.signal.aborted) {
        m.state = 'stopped'
      } else {
        const e = error instanceof Failure ? error : new Failure(String(error))
        m.state = 'failed'
        m.error = { message: e.message, code: e.code }
      }
    }
  }
  try {
    // The lock tells other tabs that this is being written.
    await (navigator.locks ? navigator.locks.request(lockOf(m), work) : work())
  } finally {
    clearInterval(timer)
    removeEventListener('pagehide', keep)
    await keep()
    chat.end()
  }
}

async function stream(m: Message, body: object, abort: AbortSignal, grew: () => void) {
  const asked = performance.now()
  let first = 0
  const response = await send('v1/chat/completions', body, abort)
  for await (const chunk of values<Chunk>(response, abort)) {
    const choice = chunk.choices[0]
    if (choice) {
      const { content, reasoning_content: thinking, tool_calls: calls } = choice.delta
      if (content || thinking || calls) first ||= performance.now()
      m.text += content ?? ''
      m.thinking += thinking ?? ''
      for (const c of calls ?? []) {
        const call = (m.calls![c.index] ??= { id: '', name: '', arguments: '' })
        call.id ||= c.id ?? ''
        call.name ||= c.function?.name ?? ''
        call.arguments += c.function?.arguments ?? ''
      }
      if (choice.finish_reason) m.state = choice.finish_reason === 'length' ? 'length' : 'done'
    }
    if (chunk.usage && first) {
      const { prompt_tokens: prompt, completion_tokens: completion } = chunk.usage
      m.stats = { prompt, completion, first: first - asked, rate: chunk.timings?.predicted_per_second ?? 0 }
    }
    grew()
  }
  if (m.state === 'writing') m.state = 'done'
}

// wrongTools says what is wrong with the JSON of tools; "" is nothing.
export function wrongTools(text: string): string {
  if (!text.trim()) return ''
  try {
    const tools = JSON.parse(text)
    if (!Array.isArray(tools) || tools.some((t) => typeof t?.function?.name !== 'string')) {
      return 'Tools are a list of {"type": "function", "function": {"name": …, "parameters": …}}.'
    }
    return ''
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`
  }
}
