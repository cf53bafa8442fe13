/**
 * Which pages of this site live. Every page's owner says so when it starts and when another one asks.
 * Decides nothing about numbers: a page that is thought dead loses only the chance to bring its lease back.
 */
export interface RollCall {
  isAlive(page: string): boolean
  close(): void
}

/** A page whose worker lives answers well within this; a frozen one has parked before. */
export const ROLL_CALL_MS = 2_000

type Message = { page: string; isQuestion: boolean }

export function callRoll(name: string, page: string): RollCall {
  const alive = new Set([page])
  const channel = new BroadcastChannel(`${name} pages`)
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    alive.add(data.page)
    if (data.isQuestion) channel.postMessage({ page, isQuestion: false } satisfies Message)
  }
  channel.postMessage({ page, isQuestion: true } satisfies Message)
  return { isAlive: (other) => alive.has(other), close: () => channel.close() }
}
