/**
 * The ids of the last check-ins that were answered: a page keeps them in `sessionStorage` over its
 * reload. They name no owner and grant nothing. Where a device has stored the same ids, the server
 * need not be asked again whether the device is a copy (H32). A copied or restored profile brings
 * them, too, but starts with another load than a reload.
 */

/** By the name of a collection on its device: the id of the check-in. */
export type LastAnswers = Record<string, string>

/** An item of `sessionStorage`. It holds {@link LastAnswers} by the names of devices. */
const ITEM = 'offline-hilo'

/**
 * Takes the ids that this tab's page left before its reload. After any other load there is nothing,
 * and nothing stays for a reload to come.
 */
export function takeAnswers(device: string): LastAnswers {
  try {
    const { [device]: own, ...others } = read()
    // guard: H32 any other load than a reload clears what was left
    if (!isReload()) sessionStorage.removeItem(ITEM)
    else if (own) {
      // guard: H32 what was left is taken once
      sessionStorage.setItem(ITEM, JSON.stringify(others))
      return { ...own }
    }
  } catch {} // There is no such storage: the server is asked.
  return {}
}

/** The page goes. A page that is killed leaves nothing, and a copy of it finds nothing. */
export function leaveAnswers(device: string, answers: LastAnswers): void {
  try {
    if (Object.keys(answers).length === 0) return
    const all = read()
    const own = { ...all[device], ...answers }
    sessionStorage.setItem(ITEM, JSON.stringify({ ...all, [device]: own }))
  } catch {}
}

const read = (): Record<string, LastAnswers> =>
  Object(JSON.parse(sessionStorage.getItem(ITEM) ?? '{}'))

/**
 * Is this load a reload? A session that is restored says `back_forward` in Chromium and Firefox.
 * Nobody has measured WebKit, nor a frame whose page is restored.
 */
function isReload(): boolean {
  // guard: H32 an engine that was not measured always asks
  if (!('webkitRequestFileSystem' in window || 'mozInnerScreenX' in window)) return false
  const [load] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return window.top === window && load?.type === 'reload'
}
