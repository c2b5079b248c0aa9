// A Conversation is a tree of messages, of which one path is shown.
export interface Conversation {
  id: string
  title: string
  settings: Settings
  leaf: string | null // the end of the path that was shown last
  created: number
  changed: number
}

// Settings of a conversation; what is not set is left to the model.
export interface Settings {
  model?: string
  system?: string
  tools?: string // JSON: a list of functions
  temperature?: number
  top_p?: number
  top_k?: number
  min_p?: number
  repeat_penalty?: number
  max_tokens?: number
  seed?: number
}

// sampling are the settings as fields of a request.
export function sampling({ temperature, top_p, top_k, min_p, repeat_penalty, max_tokens, seed }: Settings) {
  const given = { temperature, top_p, top_k, min_p, repeat_penalty, max_tokens, seed }
  return Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined))
}

export interface Preset {
  name: string
  settings: Settings
}

export interface Message {
  id: string
  conversation: string
  parent: string | null
  role: 'user' | 'assistant' | 'tool'
  at: number
  text: string
  files?: Attached[] // of a user
  call?: string // the call that a tool's text answers

  // Of an assistant.
  thinking?: string
  calls?: Call[]
  model?: string
  state?: State
  error?: { message: string; code: string }
  stats?: Stats
}

export type State = 'writing' | 'done' | 'stopped' | 'length' | 'failed'

export interface Call {
  id: string
  name: string
  arguments: string
}

// Attached is a file whose text goes with a message: its content, or what is said in it.
export interface Attached {
  name: string
  kind: 'text' | 'sound'
  text: string
}

export interface Stats {
  prompt: number // tokens
  completion: number
  first: number // milliseconds to the first token
  rate: number // tokens a second, as the server has it; 0 is not known
}

// newID is a random name. crypto.randomUUID would need a secure address.
export const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('')

// titleFrom is a title made of a message: its first line, not too long.
export function titleFrom(text: string): string {
  const line = [...text.trim().split('\n', 1)[0].replace(/\s+/g, ' ')]
  return line.length <= 60 ? line.join('') : line.slice(0, 57).join('').trimEnd() + '…'
}
