/**
 * As much of classic WebDriver as the tests need. A session does one thing at a time, but scripts
 * of several windows run side by side.
 */
import { setTimeout as pause } from 'node:timers/promises'

export interface Session {
  command<T>(method: string, path: string, body?: object): Promise<T>
  /** Switches to the window first; nothing comes between. */
  inWindow<T>(handle: string, method: string, path: string, body?: object): Promise<T>
  /** Calls a function given as text; a promise is awaited without holding up the session. */
  evaluate<T>(handle: string, run: string, arg: unknown): Promise<T>
}

/** Milliseconds between two looks at a script that has not ended. */
const LOOK_AGAIN_MS = 10

const START = `
  const outcome = {}
  window.__outcomes = [...(window.__outcomes ?? []), outcome]
  Promise.resolve().then(() => (RUN)(arguments[0])).then(
    (value) => Object.assign(outcome, { isDone: true, value }),
    (error) => Object.assign(outcome, { isDone: true, error: String(error) }),
  )
  return window.__outcomes.length - 1`

/** @param ended aborted when the driver, which may still be starting, has ended */
export async function openSession(
  driver: string,
  capabilities: object,
  ended: AbortSignal,
): Promise<Session> {
  while (!(await fetch(`${driver}/status`).catch(() => undefined))) {
    ended.throwIfAborted()
    await pause(LOOK_AGAIN_MS)
  }
  const { sessionId } = await request<{ sessionId: string }>('POST', `${driver}/session`, {
    capabilities: { alwaysMatch: capabilities },
  })
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const turn = last.then(run)
    last = turn.catch(() => {})
    return turn
  }
  const send = <T>(method: string, path: string, body?: object) =>
    request<T>(method, `${driver}/session/${sessionId}/${path}`, body)
  const inWindow = <T>(handle: string, method: string, path: string, body?: object) =>
    inTurn(async () => {
      await send('POST', 'window', { handle })
      return send<T>(method, path, body)
    })
  return {
    command: (method, path, body) => inTurn(() => send(method, path, body)),
    inWindow,
    async evaluate<T>(handle: string, run: string, arg: unknown) {
      const script = <R>(text: string, args: unknown[]) =>
        inWindow<R>(handle, 'POST', 'execute/sync', { script: text, args })
      const index = await script<number>(
        START.replace('RUN', () => run),
        [arg ?? null],
      )
      for (;;) {
        const outcome = await script<{ isDone?: true; value: T; error?: string } | null>(
          'return window.__outcomes?.[arguments[0]]',
          [index],
        )
        if (!outcome) throw new Error('The page went away before the script ended.')
        if (outcome.error) throw new Error(outcome.error)
        if (outcome.isDone) return outcome.value
        await pause(LOOK_AGAIN_MS)
      }
    },
  }
}

async function request<T>(method: string, url: string, body?: object): Promise<T> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) })
  const { value } = (await response.json()) as { value: T & { error?: string; message?: string } }
  if (!response.ok) throw new Error(`WebDriver: ${value.error}: ${value.message}`)
  return value
}
