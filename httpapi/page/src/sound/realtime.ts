import { base, Failure, post } from '../api'
import type { Device } from './device'
import { rate } from './hear'
import { Absent, silence, type Listeners, type Partners } from './transport'
import { samples, spelled } from './wav'

// absent are the answers of servers that have no realtime, or a part of it only.
const absent = [404, 405, 501]

// secret opens the socket: pages cannot send a key with it, and a key is asked for as ever.
async function secret(with_: Partners, signal: AbortSignal): Promise<string> {
  const session = {
    type: 'realtime',
    model: with_.model,
    instructions: with_.instructions,
    output_modalities: ['audio'],
    audio: {
      input: { transcription: { model: with_.ear }, turn_detection: { type: 'server_vad', silence_duration_ms: silence } },
      output: with_.voice ? { voice: with_.voice } : {},
    },
  }
  try {
    return (await post<{ value: string }>('v1/realtime/client_secrets', { session }, signal)).value
  } catch (error) {
    if (error instanceof Failure && absent.includes(error.status)) throw new Absent('There is no /v1/realtime here')
    throw error
  }
}

// overSocket is the Transport through /v1/realtime: the server finds the turns, and does
// the rest.
export async function overSocket(device: Device, with_: Partners, on: Listeners, signal: AbortSignal): Promise<void> {
  const value = await secret(with_, signal)
  const address = new URL('v1/realtime', base)
  address.protocol = address.protocol.replace('http', 'ws')
  const socket = new WebSocket(address, ['realtime', 'openai-insecure-api-key.' + value])
  signal.addEventListener('abort', () => socket.close())
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve()
    socket.onclose = () => reject(new Absent('The WebSocket of /v1/realtime was refused'))
  }).finally(() => signal.throwIfAborted())

  const send = (event: object) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(event))
  device.heard = (x) => send({ type: 'input_audio_buffer.append', audio: base64(spelled(x)) })
  socket.onclose = (e) => {
    if (!signal.aborted) on.lost(new Error(e.reason || 'The server closed the conversation. Begin again, or see its log.'))
  }
  socket.onmessage = ({ data }) => {
    if (signal.aborted) return
    const e = JSON.parse(data)
    switch (e.type) {
      case 'input_audio_buffer.speech_started': {
        on.state('hearing')
        const cut = device.player.stop()
        if (cut) send({ type: 'conversation.item.truncate', item_id: cut.id, content_index: 0, audio_end_ms: cut.ms })
        break
      }
      case 'input_audio_buffer.committed':
        on.state('answering')
        on.heard(e.item_id, '')
        break
      case 'conversation.item.input_audio_transcription.completed':
        on.heard(e.item_id, e.transcript || '…')
        break
      case 'conversation.item.input_audio_transcription.failed':
        on.fail(new Failure(e.error.message, 0, e.error.code))
        break
      case 'response.output_audio_transcript.delta':
        on.said(e.item_id, e.delta)
        break
      case 'response.output_audio.delta':
        device.player.add(e.item_id, samples(Uint8Array.from(atob(e.delta), (c) => c.charCodeAt(0))), rate)
        break
      case 'response.done':
        if (e.response.status === 'failed') on.fail(new Failure(e.response.status_details.error.message, 0, e.response.status_details.error.code))
        if (e.response.status !== 'cancelled') on.state('listening')
        on.done(e.response.timings)
        break
      case 'error': // of a truncation that came too late nobody needs to know
        if (e.error.param !== 'audio_end_ms' && e.error.param !== 'item_id') on.fail(new Failure(e.error.message, 0, e.error.code))
    }
  }
  on.state('listening')
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
