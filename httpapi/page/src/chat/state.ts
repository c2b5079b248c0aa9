import { signal, type Signal } from '@preact/signals'
import { go, place, to } from '../router'
import { say } from '../ui/notice'
import * as db from './db'
import { Tree } from './tree'
import { newID, titleFrom, type Conversation, type Message, type Settings } from './types'

// list is every conversation, the one that changed last first; null is not read yet.
export const list = signal<Conversation[] | null>(null)

// A Run is a reply that this tab is writing.
export interface Run {
  message: Message
  progress: Signal<number> // changes with what is written
  stop: () => void
}

// A Chat is a conversation that was opened in this tab. Replies go on being written to it
// while another is shown. What changes is saved first and shown then: who sees it may close
// the page.
export class Chat {
  readonly conversation: Signal<Conversation>
  readonly tree: Signal<Tree> // another one when messages came or changed
  readonly leaf: Signal<string | null>
  readonly run = signal<Run | null>(null)
  private latest: Conversation // what is shown, or is being saved
  private saved: boolean // false until the first message
  removed = false

  constructor(conversation: Conversation, messages: Message[], saved: boolean) {
    const tree = new Tree(messages)
    this.conversation = signal(conversation)
    this.latest = conversation
    this.tree = signal(tree)
    this.leaf = signal(conversation.leaf !== null && tree.get(conversation.leaf) ? conversation.leaf : tree.newest())
    this.saved = saved
  }

  get id() {
    return this.conversation.value.id
  }

  // path are the messages that are shown.
  path(): Message[] {
    return this.tree.value.path(this.leaf.value)
  }

  // add appends m to the tree. The first names the conversation.
  async add(m: Message) {
    const title = this.latest.title || titleFrom(m.text || (m.files?.[0]?.name ?? ''))
    await db.saveMessages([m])
    this.saved = true
    await this.change({ title, leaf: m.id })
    this.tree.value = new Tree([...this.tree.value.all, m])
    this.leaf.value = m.id
  }

  // keep saves what m has become.
  async keep(m: Message) {
    if (this.removed) return
    await db.saveMessages([m])
    tell(this.id)
  }

  // end shows what the run has come to.
  end() {
    this.run.value = null
    this.tree.value = new Tree(this.tree.value.all)
  }

  // show takes the path through m.
  async show(m: Message) {
    const leaf = this.tree.value.end(m).id
    await this.change({ leaf }, false)
    this.leaf.value = leaf
  }

  // change alters the conversation. Before its first message nothing is saved.
  async change(what: Partial<Conversation>, touch = true) {
    this.latest = { ...this.latest, ...what, ...(touch && { changed: Date.now() }) }
    if (this.saved && !this.removed) await db.saveConversations([this.latest])
    this.conversation.value = this.latest
    if (!this.saved || this.removed) return
    replace(this.latest)
    tell(this.id)
  }

  // take shows what another tab made of the conversation.
  async take(now: Conversation) {
    this.conversation.value = this.latest = now
    await this.reread()
  }

  setSettings(settings: Settings) {
    return this.change({ settings }, false)
  }

  // reread takes over what another tab wrote. A reply that this tab writes is its own.
  private async reread() {
    const own = this.run.value?.message
    const messages = (await db.messagesOf(this.id)).filter((m) => m.id !== own?.id)
    const before = this.tree.value
    const tree = new Tree(own ? [...messages, own] : messages)
    this.tree.value = tree
    const at = tree.get(this.leaf.value ?? '')
    if (!at) this.leaf.value = tree.newest()
    // Where the end of a path was shown, it goes on to the new end.
    else if (!own && before.end(at).id === at.id) this.leaf.value = tree.end(at).id
  }
}

const chats = new Map<string, Chat>()

const latestFirst = (all: Conversation[]) => all.sort((a, b) => b.changed - a.changed)

function replace(c: Conversation) {
  list.value = latestFirst([c, ...(list.value ?? []).filter((o) => o.id !== c.id)])
}

export async function readList() {
  list.value = latestFirst(await db.conversations())
}

// newChat is a conversation that is saved with its first message.
export function newChat(settings: Settings): Chat {
  const at = Date.now()
  const chat = new Chat({ id: newID(), title: '', settings, leaf: null, created: at, changed: at }, [], false)
  chats.set(chat.id, chat)
  return chat
}

// openChat is the conversation of that id, or nothing where it is not here.
export async function openChat(id: string): Promise<Chat | undefined> {
  if (chats.has(id)) return chats.get(id)
  if (!list.value) await readList()
  const conversation = list.value!.find((c) => c.id === id)
  if (!conversation) return
  const messages = await db.messagesOf(id)
  await endInterrupted(messages)
  if (!chats.has(id)) chats.set(id, new Chat(conversation, messages, true))
  return chats.get(id)
}

// lockOf names the lock that a tab holds while it writes m.
export const lockOf = (m: Message) => 'quern.message.' + m.id

// endInterrupted marks replies that no tab writes any more.
async function endInterrupted(messages: Message[]) {
  const writing = messages.filter((m) => m.state === 'writing')
  if (!writing.length) return
  const held = new Set((await navigator.locks?.query())?.held?.map((l) => l.name))
  for (const m of writing) {
    if (held.has(lockOf(m))) continue
    m.state = 'failed'
    m.error = { message: 'The page was closed while this was written. Ask again for the rest.', code: '' }
    await db.saveMessages([m])
  }
}

export async function removeChat(id: string) {
  const chat = chats.get(id)
  if (chat) chat.removed = true
  chat?.run.value?.stop()
  chats.delete(id)
  await db.remove(id) // before it leaves the list: whoever sees it gone may close the page
  list.value = (list.value ?? []).filter((c) => c.id !== id)
  tell(id, true)
}

// rename gives a conversation a title.
export async function rename(c: Conversation, title: string) {
  const open = chats.get(c.id)
  if (open) return open.change({ title }, false)
  const now = { ...c, title }
  await db.saveConversations([now])
  replace(now)
  tell(c.id)
}

// take saves conversations that were imported.
export async function take(conversations: Conversation[], messages: Message[]) {
  await db.saveMessages(messages)
  await db.saveConversations(conversations)
  await readList()
  for (const c of conversations) tell(c.id)
}

// Tabs tell each other what they wrote.
const channel = new BroadcastChannel('quern')
const tell = (id: string, removed = false) => channel.postMessage({ id, removed })

channel.onmessage = async ({ data }: MessageEvent<{ id: string; removed: boolean }>) => {
  const chat = chats.get(data.id)
  if (data.removed && chat?.run.value) {
    // That tab did not know of this reply: nothing is lost.
    await db.saveMessages(chat.tree.value.all)
    return chat.change({})
  }
  await readList()
  const now = list.value!.find((c) => c.id === data.id)
  if (now && chat) {
    await chat.take(now)
  }
  if (now || !data.removed) return
  chats.delete(data.id)
  if (place.value.rest[0] === data.id) {
    say('This conversation was removed in another tab.')
    go(to('chat'))
  }
}
