/** The guards against duplicates, each with the edit that takes it out: what `npm run mutate` proves to be needed. */

export interface Guard {
  name: string
  /** Row of the hazard table. */
  hazard: string
  /** Each `from` is in its file exactly once. */
  edits: { file: string; from: string; to: string }[]
}

const guard = (hazard: string, name: string, file: string, from: string, to: string): Guard => ({
  name,
  hazard,
  edits: [{ file: `src/${file}`, from, to }],
})

export const GUARDS: Guard[] = [
  {
    hazard: 'H1',
    name: 'read and write are one transaction',
    edits: [
      {
        file: 'src/store/indexeddb.ts',
        from: 'const tx = await this.#begin()\n',
        to: `const before = await this.#begin()
    const read = await Promise.all([
      before.objectStore('collections').get(key),
      before.objectStore(NOTES_STORE).getAll(IDBKeyRange.bound(key, [...key, []])),
    ])
    await before.done
    const tx = await this.#begin()
`,
      },
      {
        file: 'src/store/indexeddb.ts',
        from: "await Promise.all([tx.objectStore('collections').get(key), tx.objectStore(NOTES_STORE).getAll(noteKeys)])",
        to: 'read',
      },
    ],
  },
  guard('H2', 'carving is strict', 'store/indexeddb.ts', "durability: 'strict'", "durability: 'relaxed'"),
  guard('H3', 'a page at rest holds few', 'core/sizes.ts', 'export const PAGE_AT_REST = 16', 'export const PAGE_AT_REST = 400'),
  guard('H4', 'a hidden page parks', 'client/hilo.ts', 'hidden: () => this.#each((issuer) => issuer.park())', 'hidden: () => {}'),
  guard(
    'H5',
    'a lease is settled once',
    'core/device.ts',
    'leases: state.leases.filter((other) => other !== lease),',
    'leases: state.leases,',
  ),
  guard('H5', 'the note in localStorage', 'client/parting.ts', 'localStorage.setItem(', 'void ('),
  guard('H5', 'the note in IndexedDB', 'client/parting.ts', 'tx.objectStore(NOTES_STORE).put(', 'void ('),
  {
    hazard: 'H6',
    name: 'a lease given up is void',
    edits: [
      {
        file: 'src/client/lease-queue.ts',
        from: `    this.#current = undefined
    this.#waiting = []
    this.#to = -1
    this.#next = 0
    this.held = 0
`,
        to: '',
      },
    ],
  },
  guard('H7', 'every page has a fresh id', 'client/hilo.ts', 'readonly #page = newId()', "readonly #page = 'page'"),
  guard(
    'H8',
    'an offer leaves the ranges before it is sent',
    'core/device.ts',
    'ranges: rest.reduce(insert, kept), offers:',
    'ranges: state.ranges, offers:',
  ),
  guard(
    'H9',
    'a tokenless range goes back only to its node',
    'core/device.ts',
    'range.token !== undefined || range.serverTag === serverTag',
    'serverTag === undefined || range.to > 0',
  ),
  guard(
    'H10',
    'numbers of different grants never merge',
    'core/range.ts',
    'a.token === b.token && a.serverTag === b.serverTag && a.prefix === b.prefix\n',
    'a.to < b.from || b.to < a.from\n',
  ),
  guard(
    'H11',
    'a claim is stored before it is sent',
    'core/device.ts',
    'return { state: { ...state, claim }, claim }',
    'return { state, claim }',
  ),
  guard('H11', 'a grant is added once', 'core/device.ts', 'if (range.token && !isPending) return state', ''),
  guard('H12', 'only its page takes an offer back', 'core/device.ts', 'offer.page === page && !offer.isSent &&', ''),
  guard('H12', 'what a give-back has taken does not come back', 'core/check-in.ts', 'to: Math.min(range.to, high)', 'to: range.to'),
  guard('H12', 'a check-in voids the old token', 'server/rows.ts', 'rotation: rotation + 1', 'rotation'),
  guard(
    'H13',
    'a copy drops its ranges',
    'core/check-in.ts',
    "'superseded' in fate ? dropForked(applied, lease)",
    "'superseded' in fate ? applied",
  ),
  guard('H15', 'nothing above 2^53−1', 'source/raven.ts', 'if (High > Number.MAX_SAFE_INTEGER)', 'if (High < 0)'),
  guard('H16', 'a call is raced with the worker’s death', 'client/owner-link.ts', 'await Promise.race([answer, lost])', 'await answer'),
  guard(
    'H16',
    'an exchange that comes again is answered the same way',
    'core/device.ts',
    'if (state.leases.some(isOfRequest) || state.offers.some(isOfRequest)) return answer(state)',
    '',
  ),
  guard(
    'H17',
    'storage of a newer version is not misread',
    'core/stored.ts',
    'if (stored.version !== STATE_VERSION)',
    'if (stored.version === undefined)',
  ),
  guard('H18', 'a lock is not waited for without a deadline', 'worker/world.ts', '{ signal: AbortSignal.timeout(LOCK_DEADLINE_MS) }', '{}'),
  guard('H18', 'no lock is no reason to stop', 'worker/world.ts', '} catch {} // Not there,', '} finally {} // Not there,'),
  guard('H20', 'a claim tells the highest number seen', 'core/device.ts', 'lastMax: highest(state)', 'lastMax: 0'),
  guard('H20', 'a grant that overlaps is refused', 'core/device.ts', 'if (clash)', 'if (clash && clash.from < 0)'),
  guard(
    'H21',
    'a claim repeated gets the same grant',
    'server/sqlite-ledger.ts',
    'if (row && answered) return repeatOutcome',
    'if (row && answered && row.max < 0) return repeatOutcome',
  ),
  guard(
    'H22',
    'only the tail of a grant comes back',
    'server/rows.ts',
    'row.high === end && last < end && last >= row.issued',
    'last < end && row.high > 0',
  ),
  guard(
    'H23',
    'an error keeps its code',
    'core/errors.ts',
    'const { code, message, status, retryAfter, cause } = error\n',
    "const { message, status, retryAfter, cause } = error\n  const code = 'storage-failed'\n",
  ),
]
