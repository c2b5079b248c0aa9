import { useEffect, useState } from 'preact/hooks'
import * as db from '../chat/db'
import { last } from '../chat/last'
import { List } from '../chat/list'
import { newChat, openChat, type Chat } from '../chat/state'
import { Thread } from '../chat/thread'
import { exported } from '../chat/transfer'
import { refresh } from '../models'
import { go, to } from '../router'
import { Failed } from '../ui/failure'
import { download } from '../ui/files'
import type { ViewProps } from '../views'

// The conversation of #/chat/ID, or a new one.
export default function ChatView({ rest }: ViewProps) {
  const id = rest[0] ?? ''
  const [chat, setChat] = useState<Chat | null>(null)
  const [missing, setMissing] = useState(false)
  const [failure, fail] = useState<unknown>(null)
  const [listed, showList] = useState(false)

  const load = () => {
    fail(null)
    refresh().catch(fail)
  }
  useEffect(load, [])
  useEffect(() => {
    let left = false
    setMissing(false)
    if (!id) {
      // What was written before stays with the conversation it was for.
      if (!chat || chat.tree.value.all.length) setChat(newChat({ ...chat?.conversation.value.settings }))
      return
    }
    if (chat?.id === id) return
    openChat(id).then((found) => {
      if (left) return
      if (found) setChat(found)
      else setMissing(true)
    })
    return () => void (left = true)
  }, [id])

  const settings = chat?.conversation.value.settings
  useEffect(() => {
    if (settings) last.value = settings
  }, [settings])

  // A new conversation has an address from its first message on.
  const begun = () => chat && !id && go(to('chat', chat.id), true)

  return (
    <div class={listed ? 'chat listed' : 'chat'}>
      <aside class="panel" aria-label="Conversations">
        <List open={chat?.id ?? ''} opened={() => showList(false)} />
      </aside>
      <button type="button" class="veil" aria-label="Hide conversations" tabIndex={listed ? 0 : -1} onClick={() => showList(false)} />
      <div class="content">
        {failure !== null && <Failed error={failure} retry={load} />}
        <Trouble />
        {missing ? (
          <div class="view">
            <h1>This conversation is not here</h1>
            <p class="lead">It was removed, or is kept in another browser.</p>
            <a class="button" href={to('chat')}>
              Begin a new one
            </a>
          </div>
        ) : (
          chat && <Thread key={chat.id} chat={chat} begun={begun} showList={() => showList(!listed)} />
        )}
      </div>
    </div>
  )
}

const troubles = {
  full: 'This browser has no room left for conversations. Nothing is lost as long as this tab is open: export them, or remove some, then save again.',
  none: 'This browser keeps nothing for this page. Conversations last as long as this tab: export those you want to keep, or allow the page to store data.',
}

// Trouble says that conversations are not saved.
function Trouble() {
  const trouble = db.trouble.value
  if (!trouble) return null
  return (
    <div class="trouble">
      <Failed error={new Error(troubles[trouble])} retry={db.saveAgain} label="Save again" />
      <button type="button" onClick={async () => download(await exported(), 'quern-conversations.json')}>
        Export all
      </button>
    </div>
  )
}
