import { Device } from './device'
import { overSocket } from './realtime'
import { overRequests } from './requests'
import { Absent, type Listeners, type Partners } from './transport'

// converse opens a conversation through /v1/realtime where that is there, else by one request
// after the other. It comes to '', or to why there is no /v1/realtime.
export async function converse(with_: Partners, on: Listeners, signal: AbortSignal): Promise<string> {
  const device = await Device.open(signal)
  device.gone = () => on.lost(new Error('The microphone is gone. See that it is plugged in and allowed for this page, then begin again.'))
  try {
    await overSocket(device, with_, on, signal)
    return ''
  } catch (error) {
    if (!(error instanceof Absent)) throw error
    await overRequests(device, with_, on, signal)
    return error.message
  }
}
