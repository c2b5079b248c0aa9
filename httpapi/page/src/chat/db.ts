import { signal } from '@preact/signals'
import { openDB, type DBSchema, type IDBPDatabase } from 'idb'
import type { Conversation, Message, Preset } from './types'

interface Schema extends DBSchema {
  conversations: { key: string; value: Conversation }
  messages: { key: string; value: Message; indexes: { conversation: string } }
  presets: { key: string; value: Preset }
}
type Store = 'conversations' | 'messages' | 'presets'
type Value<S extends Store> = Schema[S]['value']

// Everything is written through here. What could not be written, because storage is full
// or the browser keeps nothing, stays in unsaved: reads see it, and saveAgain tries again.
const unsaved: Record<Store, Map<string, Value<Store> | null>> = { conversations: new Map(), messages: new Map(), presets: new Map() }

// trouble is why something is unsaved.
export const trouble = signal<'full' | 'none' | null>(null)

let opened: Promise<IDBPDatabase<Schema>> | null = null

function db(): Promise<IDBPDatabase<Schema>> {
  opened ??= openDB<Schema>('quern', 1, {
    upgrade(d) {
      d.createObjectStore('conversations', { keyPath: 'id' })
      d.createObjectStore('messages', { keyPath: 'id' }).createIndex('conversation', 'conversation')
      d.createObjectStore('presets', { keyPath: 'name' })
    },
    // A tab with a newer page wants it: let go, and open again when it is needed.
    blocking(_, __, event) {
      ;(event.target as IDBDatabase).close()
      opened = null
    },
    terminated: () => (opened = null),
  }).catch((error) => {
    opened = null
    throw error
  })
  return opened
}

const keyOf = (v: Value<Store>) => ('name' in v ? v.name : v.id)

// write puts values and removes keys.
async function write(store: Store, put: Value<Store>[], remove: string[] = []): Promise<void> {
  for (const v of put) unsaved[store].set(keyOf(v), structuredClone(v))
  for (const k of remove) unsaved[store].set(k, null)
  await flush(store)
}

// flush writes what is unsaved in one transaction.
async function flush(store: Store): Promise<void> {
  const todo = [...unsaved[store]]
  if (!todo.length) return
  try {
    const tx = (await db()).transaction(store, 'readwrite')
    for (const [key, value] of todo) {
      const request = value ? tx.store.put(value as never) : tx.store.delete(key)
      request.catch(() => {}) // it ends the transaction, which tells
    }
    await tx.done
  } catch (error) {
    trouble.value = error instanceof DOMException && error.name === 'QuotaExceededError' ? 'full' : 'none'
    return
  }
  for (const [key, value] of todo) if (unsaved[store].get(key) === value) unsaved[store].delete(key)
  if (!hasUnsaved()) trouble.value = null
}

export const hasUnsaved = () => Object.values(unsaved).some((m) => m.size > 0)

// saveAgain writes what is unsaved; trouble tells whether it worked.
export async function saveAgain() {
  for (const store of Object.keys(unsaved) as Store[]) await flush(store)
}

addEventListener('beforeunload', (e) => {
  if (hasUnsaved()) e.preventDefault()
})

// read returns what is stored, with what is unsaved laid over it.
async function read<S extends Store>(store: S, from: (d: IDBPDatabase<Schema>) => Promise<Value<S>[]>, mine: (v: Value<S>) => boolean = () => true) {
  let found: Value<S>[] = []
  try {
    found = await from(await db())
  } catch {
    trouble.value ??= 'none'
  }
  const all = new Map(found.map((v) => [keyOf(v), v]))
  for (const [key, value] of unsaved[store]) {
    if (!value) all.delete(key)
    else if (mine(value as Value<S>)) all.set(key, structuredClone(value) as Value<S>)
  }
  return [...all.values()]
}

export const conversations = () => read('conversations', (d) => d.getAll('conversations'))
export const allMessages = () => read('messages', (d) => d.getAll('messages'))
export const messagesOf = (id: string) =>
  read('messages', (d) => d.getAllFromIndex('messages', 'conversation', id), (m) => m.conversation === id)
export const presets = () => read('presets', (d) => d.getAll('presets'))

export const saveConversations = (all: Conversation[]) => write('conversations', all)
export const saveMessages = (all: Message[]) => write('messages', all)
export const savePreset = (p: Preset) => write('presets', [p])
export const removePreset = (name: string) => write('presets', [], [name])

// remove forgets a conversation and its messages.
export async function remove(id: string) {
  const ids = (await messagesOf(id)).map((m) => m.id)
  await write('messages', [], ids)
  await write('conversations', [], [id])
}
