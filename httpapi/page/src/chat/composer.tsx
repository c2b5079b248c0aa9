import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { recall, remember } from '../ui/memory'
import { Failed } from '../ui/failure'
import { pickFiles } from '../ui/files'
import * as icons from '../ui/icons'
import { attach, isSound } from './attach'
import { ask } from './run'
import type { Chat } from './state'
import type { Attached } from './types'

// A Pending file is being read, or transcribed.
interface Pending {
  name: string
  sound: boolean
  abort: AbortController
}

// Composer is where the user writes. What is not sent yet outlives a reload.
export function Composer({ chat, sent }: { chat: Chat; sent: () => void }) {
  const draft = 'draft.' + chat.id
  const [text, set] = useState(() => recall(draft, 'session') ?? '')
  const [sending, setSending] = useState<string | null>(null) // what is being saved
  const [files, setFiles] = useState<Attached[]>([])
  const [pending, setPending] = useState<Pending[]>([])
  const [failure, fail] = useState<{ error: unknown; file: File } | null>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const run = chat.run.value

  useEffect(() => area.current?.focus({ preventScroll: true }), [chat.id])
  // Before it is painted: who sees it may reload.
  useLayoutEffect(() => remember(draft, text || sending || null, 'session'), [text, sending])

  const take = (chosen: Iterable<File>) => {
    for (const file of chosen) {
      const p = { name: file.name, sound: isSound(file), abort: new AbortController() }
      setPending((all) => [...all, p])
      fail(null)
      attach(file, p.abort.signal)
        .then((a) => setFiles((all) => [...all, a]))
        .catch((error) => p.abort.signal.aborted || fail({ error, file }))
        .finally(() => setPending((all) => all.filter((o) => o !== p)))
    }
  }
  const ready = (text.trim() !== '' || files.length > 0) && !pending.length && !run && sending === null
  const submit = (e: Event) => {
    e.preventDefault()
    if (!ready) return
    setSending(text)
    set('')
    setFiles([])
    ask(chat, chat.leaf.value, text.trim(), files, () => {
      setSending(null)
      sent()
    })
  }
  const key = (e: KeyboardEvent) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) submit(e)
  }
  const drop = (e: DragEvent) => {
    if (!e.dataTransfer?.files.length) return
    e.preventDefault()
    take(e.dataTransfer.files)
  }
  const paste = (e: ClipboardEvent) => {
    if (!e.clipboardData?.files.length) return
    e.preventDefault()
    take(e.clipboardData.files)
  }

  return (
    <form class="composer" onSubmit={submit} onDragOver={(e) => e.preventDefault()} onDrop={drop}>
      {failure && <Failed error={failure.error} retry={() => take([failure.file])} />}
      {(files.length > 0 || pending.length > 0) && (
        <ul class="attached" aria-label="Attached files">
          {files.map((f, i) => (
            <li key={i}>
              <icons.file />
              <span dir="auto">{f.name}</span>
              <button type="button" class="quiet" aria-label={`Remove ${f.name}`} onClick={() => setFiles(files.filter((o) => o !== f))}>
                <icons.close />
              </button>
            </li>
          ))}
          {pending.map((p, i) => (
            <li key={'p' + i} class="pending">
              <icons.file />
              <span dir="auto">
                {p.name}: {p.sound ? 'being transcribed' : 'being read'}
              </span>
              <button type="button" class="quiet" aria-label={`Cancel ${p.name}`} onClick={() => p.abort.abort()}>
                <icons.close />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="field-row">
        <button type="button" class="quiet" title="Attach text or sound" aria-label="Attach text or sound" onClick={async () => take(await pickFiles('', true))}>
          <icons.attach />
        </button>
        <textarea
          ref={area}
          rows={1}
          value={text}
          dir="auto"
          placeholder="Write a message"
          aria-label="Message"
          onInput={(e) => set(e.currentTarget.value)}
          onKeyDown={key}
          onPaste={paste}
        />
        {run ? (
          <button type="button" class="send primary" title="Stop" aria-label="Stop" onClick={run.stop}>
            <icons.stop />
          </button>
        ) : (
          <button type="submit" class="send primary" title="Send" aria-label="Send" disabled={!ready}>
            <icons.send />
          </button>
        )}
      </div>
    </form>
  )
}
