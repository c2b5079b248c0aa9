import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { count } from '../ui/format'
import * as icons from '../ui/icons'
import { Composer } from './composer'
import { Shown } from './message'
import { Picker } from './picker'
import { modelOf } from './run'
import { SettingsDialog } from './settings'
import type { Chat } from './state'

// Thread is the path of a conversation that is shown, and where to go on with it.
export function Thread({ chat, begun, showList }: { chat: Chat; begun: () => void; showList: () => void }) {
  const scroller = useRef<HTMLDivElement>(null)
  const stuck = useRef(true) // the end is shown, and stays so
  const [away, setAway] = useState(false)
  const [settings, setSettings] = useState(false)
  const path = chat.path()
  const run = chat.run.value

  const follow = () => {
    if (stuck.current) scroller.current!.scrollTop = scroller.current!.scrollHeight
  }
  const toEnd = () => {
    stuck.current = true
    setAway(false)
    follow()
  }
  const scrolled = () => {
    const s = scroller.current!
    stuck.current = s.scrollHeight - s.scrollTop - s.clientHeight < 40
    setAway(!stuck.current)
  }
  useLayoutEffect(toEnd, [chat])
  useLayoutEffect(follow, [path.length, run])

  const last = path.at(-1)
  return (
    <section class="thread" aria-label="Conversation">
      <header class="bar">
        <button type="button" class="quiet show-list" title="Conversations" aria-label="Show conversations" onClick={showList}>
          <icons.panel />
        </button>
        <Picker chat={chat} />
        <Meter chat={chat} />
        <button type="button" class="quiet" title="Settings" aria-label="Settings of this conversation" onClick={() => setSettings(true)}>
          <icons.tune />
        </button>
      </header>
      <div class="scroller" ref={scroller} onScroll={scrolled}>
        {path.length ? (
          <div class="messages">
            <h1 class="unseen">{chat.conversation.value.title}</h1>
            {path.map((m) => (
              <Shown key={m.id} chat={chat} m={m} last={m === last} grows={run?.message.id === m.id ? run.progress : null} drawn={follow} />
            ))}
          </div>
        ) : (
          <Welcome chat={chat} />
        )}
      </div>
      <div class="foot">
        {away && (
          <button type="button" class="to-end" aria-label="To the end" onClick={toEnd}>
            <icons.down />
          </button>
        )}
        <Composer chat={chat} sent={() => (toEnd(), begun())} />
      </div>
      <p class="unseen" role="status">
        {run ? 'The model is answering.' : last?.role === 'assistant' ? 'The answer has ended.' : ''}
      </p>
      {settings && <SettingsDialog chat={chat} close={() => setSettings(false)} />}
    </section>
  )
}

function Welcome({ chat }: { chat: Chat }) {
  const model = modelOf(chat.conversation.value.settings)
  return (
    <div class="welcome">
      <icons.quern />
      <h1>What shall we talk about?</h1>
      {model && (
        <p>
          <bdi>{model.id}</bdi> answers, on this server. Nothing leaves it.
        </p>
      )}
    </div>
  )
}

// Meter is how much of the context the conversation fills, as of its last answer.
function Meter({ chat }: { chat: Chat }) {
  const stats = chat.path().findLast((m) => m.stats)?.stats
  const most = modelOf(chat.conversation.value.settings)?.context_length
  if (!stats || !most) return <span class="meter" />
  const used = stats.prompt + stats.completion
  const text = `${count(used)} of ${count(most)} tokens of context`
  return (
    <span class="meter" title={text}>
      <meter min={0} max={most} high={most * 0.85} value={used} aria-label={text} />
      <span aria-hidden="true">
        {count(used)} / {count(most)}
      </span>
    </span>
  )
}
