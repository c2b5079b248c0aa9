import { useEffect, useState } from 'preact/hooks'
import { go, to } from '../router'
import { ask, Dialog } from '../ui/dialog'
import { Failed } from '../ui/failure'
import { download, pickFiles } from '../ui/files'
import * as icons from '../ui/icons'
import { say } from '../ui/notice'
import * as db from './db'
import { list, readList, removeChat, rename } from './state'
import { exported, imported } from './transfer'
import type { Conversation } from './types'

// shownFirst is how many conversations are listed before the user asks for all.
const shownFirst = 100

// List is every conversation, to open, find, rename, remove, export and import.
export function List({ open, opened }: { open: string; opened: () => void }) {
  const [sought, seek] = useState('')
  const [found, find] = useState<Set<string> | null>(null)
  const [renaming, setRenaming] = useState<Conversation | null>(null)
  const [failure, fail] = useState<unknown>(null)
  const [everything, showAll] = useState(false)

  useEffect(() => void readList(), [])
  useEffect(() => {
    let outdated = false
    if (!sought.trim()) return find(null)
    search(sought).then((ids) => outdated || find(ids))
    return () => void (outdated = true)
  }, [sought, list.value])

  const all = (list.value ?? []).filter((c) => !found || found.has(c.id))
  const shown = everything ? all : all.slice(0, shownFirst)

  const drop = async (c: Conversation) => {
    const yes = await ask({ title: 'Remove this conversation?', text: `“${c.title}” and all its messages will be gone from this browser. Export it first if you may want it again.`, yes: 'Remove', danger: true })
    if (!yes) return
    await removeChat(c.id)
    if (c.id === open) go(to('chat'))
  }
  const take = async () => {
    fail(null)
    for (const file of await pickFiles('.json,application/json')) {
      try {
        const n = await imported(file)
        say(n === 1 ? 'One conversation was imported.' : `${n} conversations were imported.`)
      } catch (error) {
        fail(error)
      }
    }
  }

  return (
    <div class="list">
      <a class="button new" href={to('chat')} onClick={opened}>
        <icons.plus /> New conversation
      </a>
      <label class="seek">
        <icons.search />
        <input type="search" placeholder="Search" aria-label="Search conversations" value={sought} onInput={(e) => seek(e.currentTarget.value)} />
      </label>
      {failure !== null && <Failed error={failure} retry={take} label="Choose another file" />}
      <ul aria-label="Conversations">
        {shown.map((c) => (
          <li key={c.id} class={c.id === open ? 'open' : ''}>
            <a href={to('chat', c.id)} aria-current={c.id === open ? 'true' : undefined} onClick={opened} dir="auto">
              {c.title}
            </a>
            <span class="acts">
              <button type="button" class="quiet" title="Rename" aria-label={`Rename ${c.title}`} onClick={() => setRenaming(c)}>
                <icons.edit />
              </button>
              <button type="button" class="quiet" title="Export" aria-label={`Export ${c.title}`} onClick={async () => download(await exported(c.id), fileName(c.title))}>
                <icons.save />
              </button>
              <button type="button" class="quiet" title="Remove" aria-label={`Remove ${c.title}`} onClick={() => drop(c)}>
                <icons.trash />
              </button>
            </span>
          </li>
        ))}
      </ul>
      {list.value && !all.length && <p class="hint empty">{sought ? 'Nothing was found.' : 'Conversations are kept in this browser only.'}</p>}
      {shown.length < all.length && (
        <button type="button" class="link" onClick={() => showAll(true)}>
          Show all {all.length}
        </button>
      )}
      <div class="transfer">
        <button type="button" class="quiet" onClick={take}>
          <icons.open /> Import
        </button>
        <button type="button" class="quiet" disabled={!list.value?.length} onClick={async () => download(await exported(), 'quern-conversations.json')}>
          <icons.save /> Export all
        </button>
      </div>
      {renaming && <Rename conversation={renaming} close={() => setRenaming(null)} />}
    </div>
  )
}

function Rename({ conversation, close }: { conversation: Conversation; close: () => void }) {
  const [title, set] = useState(conversation.title)
  const submit = async (e: Event) => {
    e.preventDefault()
    if (title.trim()) await rename(conversation, title.trim())
    close()
  }
  return (
    <Dialog title="Rename" close={close}>
      <form onSubmit={submit}>
        <label class="field">
          Title
          <input value={title} dir="auto" maxLength={200} autofocus onInput={(e) => set(e.currentTarget.value)} />
        </label>
        <footer>
          <button type="submit" class="primary">
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

// search returns the conversations whose title or messages have all words of sought.
async function search(sought: string): Promise<Set<string>> {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean)
  const has = (text: string) => words.every((w) => text.toLowerCase().includes(w))
  const found = new Set((list.value ?? []).filter((c) => has(c.title)).map((c) => c.id))
  for (const m of await db.allMessages()) if (has(m.text)) found.add(m.conversation)
  return found
}

const fileName = (title: string) => (title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '').slice(0, 60) || 'conversation') + '.json'
