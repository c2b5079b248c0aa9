import type { Signal } from '@preact/signals'
import { effect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { copyClicked } from '../markdown/code'
import { Stream } from '../markdown/stream'

interface Props {
  text: () => string
  grows?: Signal<number> | null // changes with the text; null where it is whole
  drawn?: () => void // after every update
}

// Prose is Markdown. While it grows it is drawn once a frame at most.
export function Prose({ text, grows, drawn }: Props) {
  const ref = useRef<HTMLDivElement>(null)
  const stream = useRef<Stream | null>(null)
  useLayoutEffect(() => {
    stream.current ??= new Stream(ref.current!)
    if (!grows) return stream.current.finish(text())
    let frame = 0
    const end = effect(() => {
      void grows.value
      frame ||= requestAnimationFrame(() => {
        frame = 0
        stream.current!.update(text())
        drawn?.()
      })
    })
    return () => {
      end()
      cancelAnimationFrame(frame)
    }
  }, [grows, grows ? '' : text()])
  return <div ref={ref} class="prose" dir="auto" onClick={copyClicked} />
}
