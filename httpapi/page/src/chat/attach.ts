import { post } from '../api'
import { ofKind } from '../models'
import type { Attached } from './types'

// mostText bounds a text file: more would not fit into a context.
const mostText = 1 << 20

const sounds = /\.(wav|mp3|flac|ogg|oga|opus|m4a|mp4|aac|webm|aiff?|caf)$/i

export const isSound = (file: File) => file.type.startsWith('audio/') || sounds.test(file.name)

// attach makes the text of a file: as it is, or what is said in it. It throws an Error
// that says what to do.
export async function attach(file: File, signal: AbortSignal): Promise<Attached> {
  if (isSound(file)) {
    const [recogniser] = ofKind('transcription')
    if (!recogniser) throw new Error(`${file.name} is sound, and the server has no model that transcribes. Serve one, for example with quern serve --model ggml-base.bin.`)
    const form = new FormData()
    form.append('file', file)
    form.append('model', recogniser.id)
    const { text } = await post<{ text: string }>('v1/audio/transcriptions', form, signal)
    return { name: file.name, kind: 'sound', text: text.trim() }
  }
  if (file.size > mostText) throw new Error(`${file.name} is larger than 1 MB. Attach the part that matters.`)
  let text
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    text = '\0'
  }
  if (text.includes('\0')) throw new Error(`${file.name} is neither text in UTF-8 nor sound. Attach it as text.`)
  return { name: file.name, kind: 'text', text }
}
