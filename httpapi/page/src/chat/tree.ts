import type { Message } from './types'

// A Tree is the messages of a conversation by what they follow. There may be several
// first ones.
export class Tree {
  private readonly byID = new Map<string, Message>()
  private readonly below = new Map<string | null, Message[]>()

  constructor(messages: Message[] = []) {
    for (const m of messages) this.byID.set(m.id, m)
    for (const m of this.byID.values()) {
      const siblings = this.below.get(this.parent(m))
      if (siblings) siblings.push(m)
      else this.below.set(this.parent(m), [m])
    }
    for (const siblings of this.below.values()) siblings.sort(older)
  }

  // parent is what m follows; what is missing in a file that was imported is nothing.
  private parent(m: Message): string | null {
    return m.parent !== null && this.byID.has(m.parent) ? m.parent : null
  }

  get all(): Message[] {
    return [...this.byID.values()]
  }

  get(id: string): Message | undefined {
    return this.byID.get(id)
  }

  // siblings are the messages in the place of m, m among them, the oldest first.
  siblings(m: Message): Message[] {
    return this.below.get(this.parent(m)) ?? [m]
  }

  // path is what leads to the message id, the first message first.
  path(id: string | null): Message[] {
    const path = new Set<Message>()
    for (let m = this.byID.get(id ?? ''); m && !path.has(m); m = this.byID.get(m.parent ?? '')) path.add(m)
    return [...path].reverse()
  }

  // end follows the newest messages below m.
  end(m: Message): Message {
    const seen = new Set<Message>()
    for (let next: Message | undefined = m; next && !seen.has(next); next = this.below.get(next.id)?.at(-1)) {
      seen.add(next)
      m = next
    }
    return m
  }

  // newest is where a conversation goes on whose last place is not known.
  newest(): string | null {
    return this.all.sort(older).at(-1)?.id ?? null
  }
}

const older = (a: Message, b: Message) => a.at - b.at || (a.id < b.id ? -1 : 1)
