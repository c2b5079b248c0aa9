import { computed, signal } from '@preact/signals'
import { get } from './api'
import { recall, remember } from './ui/memory'

export type Kind = 'chat' | 'completion' | 'embedding' | 'rerank' | 'classification' | 'speech' | 'transcription'

// A Model is what GET /v1/models says of one.
export interface Model {
  id: string
  type: Kind
  capabilities: string[]
  context_length?: number
  status: string
  quantization?: string
  architecture?: string
  size_bytes?: number
  alias_of?: string
}

// models are those the server has; null is not known yet.
export const models = signal<Model[] | null>(null)

export const ofKind = (...kinds: Kind[]) => (models.value ?? []).filter((m) => kinds.includes(m.type))

// refresh asks the server which models there are.
export async function refresh(): Promise<Model[]> {
  const { data } = await get<{ data: Model[] }>('v1/models')
  return (models.value = data)
}

// chosen is the model that new conversations use, by name.
export const chosen = signal(recall('model') ?? '')

export function choose(id: string) {
  chosen.value = id
  remember('model', id)
}

// current is the chosen model if the server still has it, else the first that chats.
export const current = computed<Model | undefined>(() => {
  const all = ofKind('chat')
  return all.find((m) => m.id === chosen.value) ?? all[0]
})
