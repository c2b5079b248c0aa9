import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import * as icons from './icons'

interface Props {
  title: string
  close: () => void // also by Escape and by a click beside it
  children: ComponentChildren
  wide?: boolean
}

// A Dialog is modal for as long as it is rendered; the browser keeps the focus in it.
export function Dialog({ title, close, children, wide }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-label={title}
      onCancel={(e) => (e.preventDefault(), close())}
      onPointerDown={(e) => e.target === ref.current && close()}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={close}>
            <icons.close />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface Question {
  title: string
  text: string
  yes: string
  danger?: boolean
}

const asked = signal<(Question & { answer: (yes: boolean) => void }) | null>(null)

// ask has the user decide.
export function ask(question: Question): Promise<boolean> {
  asked.value?.answer(false)
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      asked.value = null
      resolve(yes)
    }
    asked.value = { ...question, answer }
  })
}

// Questions shows what ask asks; the shell has one.
export function Questions() {
  const q = asked.value
  if (!q) return null
  return (
    <Dialog title={q.title} close={() => q.answer(false)}>
      <p>{q.text}</p>
      <footer>
        <button type="button" onClick={() => q.answer(false)}>
          Cancel
        </button>
        <button type="button" class={q.danger ? 'danger' : 'primary'} autofocus onClick={() => q.answer(true)}>
          {q.yes}
        </button>
      </footer>
    </Dialog>
  )
}
