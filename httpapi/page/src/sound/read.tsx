import { Fragment } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { at, type Word } from './words'

// Reading shows words that are said by media: the one that is said now is marked, and one
// that is pressed is gone to.
export function Reading({ words, media }: { words: Word[]; media: HTMLMediaElement | null }) {
  const box = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (!media) return
    let frame = 0
    let marked = -1
    const step = () => {
      frame = requestAnimationFrame(step)
      const now = media.currentTime > 0 || !media.paused ? at(words, media.currentTime) : -1
      if (now === marked) return
      const spans = box.current!.children
      spans[marked]?.classList.remove('said')
      spans[now]?.classList.add('said')
      marked = now
    }
    step()
    return () => cancelAnimationFrame(frame)
  }, [words, media])
  const go = (i: number) => {
    if (!media) return
    media.currentTime = words[i].start + 0.001
    media.play().catch(() => {})
  }
  // One stop of the Tab key for all words; arrows go from one to the next.
  const key = (e: KeyboardEvent) => {
    const target = e.target as HTMLElement
    const next = { ArrowRight: target.nextElementSibling, ArrowLeft: target.previousElementSibling }[e.key] as HTMLElement | null | undefined
    if (next) {
      e.preventDefault()
      target.tabIndex = -1
      next.tabIndex = 0
      next.focus()
    } else if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault()
      go([...box.current!.children].indexOf(target))
    }
  }
  return (
    <p class="reading" dir="auto" ref={box} onKeyDown={key}>
      {words.map((w, i) => {
        const [, space, word] = w.text.match(/^(\s*)(.*)$/s)!
        return (
          <Fragment key={i}>
            {space}
            <span role="button" tabIndex={i === 0 ? 0 : -1} onClick={() => go(i)}>
              {word}
            </span>
          </Fragment>
        )
      })}
    </p>
  )
}
