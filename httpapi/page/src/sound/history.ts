import { openDB, type IDBPDatabase } from 'idb'
import type { Word } from './words'

// A Spoken is speech that was made here.
export interface Spoken {
  id: string
  at: number // when, in milliseconds
  text: string
  voice: string
  speed: number
  sound: Blob // MP3
  words: Word[]
}

// most is how many are kept; the oldest go.
const most = 50

let db: Promise<IDBPDatabase> | null = null
const open = () => (db ??= openDB('quern-speech', 1, { upgrade: (d) => void d.createObjectStore('spoken', { keyPath: 'id' }).createIndex('at', 'at') }))

// spoken lists what was made, the newest first. A browser that keeps nothing has none.
export async function spoken(): Promise<Spoken[]> {
  try {
    return (await (await open()).getAllFromIndex('spoken', 'at')).reverse()
  } catch {
    return []
  }
}

// keep stores speech, and reports whether the browser did.
export async function keep(s: Spoken): Promise<boolean> {
  try {
    const d = await open()
    await d.put('spoken', s)
    const keys = await d.getAllKeysFromIndex('spoken', 'at')
    for (const old of keys.slice(0, Math.max(0, keys.length - most))) await d.delete('spoken', old)
    return true
  } catch {
    return false
  }
}

export async function forget(id: string) {
  await (await open()).delete('spoken', id).catch(() => {})
}
