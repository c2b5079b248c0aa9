import type { Device } from './device'

// What a spoken conversation is with; voice '' is the usual one.
export interface Partners {
  model: string
  ear: string
  voice: string
  instructions: string
}

// Timings are the legs of a turn, in milliseconds, each from the one before; those that did
// not come are not there.
export interface Timings {
  transcription_ms?: number
  first_token_ms?: number
  first_audio_ms?: number
  turn_ms?: number
}

// Listeners hear how the conversation goes.
export interface Listeners {
  state: (state: 'listening' | 'hearing' | 'answering') => void
  heard: (id: string, text: string) => void // what the user said; '' is not known yet
  said: (id: string, more: string) => void // what the reply adds
  done: (timings: Timings) => void // of the last reply
  fail: (error: unknown) => void // of a turn; the conversation goes on
  lost: (error: unknown) => void // the conversation is over
}

// A Transport holds a conversation until signal ends it. It comes back when the conversation
// has begun, and throws Absent where it cannot be had.
export type Transport = (device: Device, with_: Partners, on: Listeners, signal: AbortSignal) => Promise<void>

// An Absent says that a transport cannot be had, and why.
export class Absent extends Error {}

// silence ends a turn, in milliseconds.
export const silence = 512
