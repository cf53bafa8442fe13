/** What an app does with its ids, and what it checks of every answer. */
import { HiloError } from '../../src/core/errors.js'
import { uuid } from '../../src/core/uuid.js'
import { nodeOf } from './bare-numbers.js'
import { begin, failed } from './calls.js'
import { close } from './closed.js'
import type { Page } from './device.js'
import { SERVER_URL } from './network.js'
import type { Simulation } from './simulation.js'
import { ofTenant } from './tenants.js'

/** The ids of a counter of the app's own have no node tag. */
export const ID = /^(\w+)[/:](\d+)(?:-([A-Z]))?$/

/** Errors that an app has to expect. */
const EXPECTED = new Set([
  'exhausted',
  'not-leased',
  'timeout',
  'aborted',
  'closed',
  'server-unreachable',
  'server-refused',
  'storage-failed',
])

/** What an app may do, and how often it does. */
const ACTIONS = {
  nextId: 8,
  burst: 4,
  nextIds: 3,
  number: 1,
  sync: 3,
  take: 1.5,
  warm: 2,
  reserve: 1,
  reserveAll: 0.5,
  spellings: 0.2,
  ownRequest: 0.1,
  release: 0.4,
  close: 0.3,
  abort: 0.5,
  hasty: 0.5,
  patient: 0.5,
  stubborn: 1.5,
  stockpile: 0.1,
  /** Happens only when the device has just come to another node: see odd-apps.ts. */
  numbers: 0,
  offline: 0.3,
  online: 0.5,
}
type Action = keyof typeof ACTIONS

const PATIENT = { timeout: Number.POSITIVE_INFINITY }
/** A page may be hidden, left or killed in this time. */
const LONG_BATCH_MS = 20_000
/** More grants than a device remembers pages that hold numbers (64). */
const GRANTS = 70

/** Somebody asks for ids at this very moment, on each of these devices. */
export function askAtOnce(simulation: Simulation, devices = simulation.devices): void {
  for (const device of devices) {
    const page = device.pages.find(({ isAlive }) => isAlive) ?? simulation.openPage(device)
    callApp(simulation, page, 'nextIds')
  }
}

export function callApp(simulation: Simulation, page: Page, which?: Action): void {
  const { random, scheduler, profile, checker, idForms } = simulation
  const tag = random.pick(profile.collections)
  const { device, name } = page
  const nodes = page.nodes.get(tag) ?? new Set()
  page.nodes.set(tag, nodes)

  function issued(ids: readonly string[], spelled = tag): void {
    scheduler.note(page.actor, `issues ${ids.length > 1 ? `${ids[0]} … ${ids.at(-1)}` : ids[0]}`)
    for (const id of ids) {
      const [, prefix, number, said] = ID.exec(id) ?? []
      if (prefix === spelled) {
        const node = said ?? idForms.nodeOf(page, tag, Number(number))
        const series = `${ofTenant(tag, page.tenant)}-${node}`
        checker.issued(series, device.name, Number(number), page.isInMemory, page.stateOf(spelled))
        nodes.add(node)
      } else checker.complain(`${name} got an id of another form: ${id}`)
    }
    const log = page.issues.get(tag) ?? []
    page.issues.set(tag, log)
    log.push({ until: scheduler.awake, count: ids.length })
  }

  /** While a call for `count` ids waits, and for a while after it, the page may hold as many. */
  function wish(count: number): { until: number; count: number } {
    const wish = { until: Number.POSITIVE_INFINITY, count }
    page.wishes.set(tag, [...(page.wishes.get(tag) ?? []), wish])
    return wish
  }

  /** Nodes, or records that somebody exchanged, give one collection ids of two forms. */
  const hasTwoForms = () => profile.nodes.length > 1 || simulation.hits.has('record exchanged')

  async function call(
    what: string,
    count: number,
    act: () => Promise<string[] | undefined>,
  ): Promise<void> {
    const wished = wish(count)
    page.busyAt = scheduler.awake
    const made = { what, tag, count, at: scheduler.now }
    const isClosed = page.closedAt <= scheduler.awake
    begin(simulation, page, made)
    try {
      const ids = await act()
      if (ids && ids.length !== count)
        checker.complain(`${name}: ${what} gave ${ids.length} ids instead of ${count}`)
      if (ids && isClosed) checker.complain(`${name}: ${what} gave ids after close()`)
      if (ids && ids.length > 0) issued(ids)
    } catch (error) {
      const { code, message } = error as HiloError
      scheduler.note(page.actor, `${what} fails: ${code}`)
      wished.until = Number.NEGATIVE_INFINITY
      failed(simulation, page, made, error as HiloError)
      const isExpected =
        error instanceof HiloError &&
        (EXPECTED.has(code) ||
          (code === 'other-ledger' && simulation.twoLedgers.areThere) ||
          // Only its own timeout ends a call for it, or a call that needs the server itself.
          (code === 'no-hilo-server' && (error.cause !== undefined || count === 0)) ||
          idForms.isRefused(error) ||
          (what === 'nextNumber' && code === 'invalid-argument' && hasTwoForms()) ||
          (code === 'invalid-response' &&
            (profile.hasRestore ||
              profile.hasClones ||
              // A sign-in page or a proxy answered. Ids go on; only a call that needs the server
              // itself fails.
              ((error.noAnswer || profile.faults.has('portals')) && count === 0) ||
              device.isLossy)))
      if (!isExpected)
        checker.complain(
          `${name}: ${what} failed with ${code ?? ''} ${message}\n${(error as Error).stack}`,
        )
    }
    page.calls.delete(made)
    wished.until = scheduler.awake
    page.busyAt = scheduler.awake
  }

  /**
   * A bare number does not say which node granted it. A device that lost its storage cannot say it,
   * either.
   */
  async function nextNumber(): Promise<string[]> {
    if (device.isLossy && profile.nodes.length > 1) return [await page.hilo.nextId(tag)]
    const number = await page.hilo.nextNumber(tag)
    if (nodes.size > 1 && !device.isLossy)
      checker.complain(`${name}: a bare number, and its page has ids of ${[...nodes].join(', ')}`)
    const node = nodeOf(simulation, page, tag, number)
    return [`${tag}/${number}${node && `-${node}`}`]
  }

  /** A batch: some of it is used at once, some later, perhaps when its page was away meanwhile. */
  async function take(): Promise<undefined> {
    const batch = await page.hilo.take(tag, count)
    page.batches.push(batch)
    const use = (down: number) => {
      const ids: string[] = []
      try {
        while (batch.left > down) ids.push(batch.next())
      } catch (error) {
        if (!idForms.isRefused(error as HiloError))
          checker.complain(`${name}: a batch has ${batch.left} left, and fails: ${error}`)
      }
      if (ids.length > 0) issued(ids)
    }
    use(random.between(0, count))
    setTimeout(
      () => {
        use(random.between(0, count))
        batch.end()
        use(0)
      },
      random.between(0, LONG_BATCH_MS),
    )
  }

  /** Asks for so many ids that they come in more grants than a device remembers pages. */
  async function stockpile(): Promise<string[] | undefined> {
    if (!profile.sizeLimit) return undefined
    device.hasStockpiled = true
    device.mayLose('more grants than a check-in shows')
    const many = profile.sizeLimit * GRANTS
    await page.hilo.reserve(tag, many)
    wish(many)
    issued(await page.hilo.nextIds(tag, many))
    return undefined
  }

  /** Two spellings of one collection in one call: each is claimed under an id of its own. */
  async function spellings(): Promise<string[] | undefined> {
    if (profile.authority !== 'own') return undefined
    const other = tag.toUpperCase()
    checker.holdsApart(device.name)
    await page.hilo.reserve({ [tag]: count, [other]: count })
    const ids = await page.hilo.nextIds(other, count)
    issued(ids, other)
    return undefined
  }

  /** Another client names both spellings in one request, under one claim id: it is refused. */
  async function ownRequest(): Promise<void> {
    if (profile.authority !== 'own' || page.closedAt <= scheduler.awake) return
    simulation.pauses.begun(page.name)
    const response = await fetch(`${SERVER_URL}/databases/default/hilo/next`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        claim: uuid(crypto.getRandomValues(new Uint8Array(16)), Date.now()),
        collections: [tag, tag.toUpperCase()].map((each) => ({ tag: each, count })),
      }),
    }).catch(() => undefined)
    const answer = response?.ok ? await response.text() : ''
    if (!answer.startsWith('{')) return
    for (const { Low, ServerTag } of JSON.parse(answer).collections)
      issued([`${tag}/${Low}-${ServerTag}`])
  }

  function run(what: string, act: () => void): void {
    page.run(`${what} ${tag}`, () => page.isAlive && act())
  }

  const action = which ?? random.weighted(ACTIONS)
  const count = random.chance(0.1) ? random.between(20, 300) : random.between(1, 20)
  const actions: Record<Action, () => void> = {
    nextId: () =>
      run('nextId', () => void call('nextId', 1, async () => [await page.hilo.nextId(tag)])),
    burst: () =>
      run(`${count} × nextId`, () => {
        for (let i = 0; i < count; i++)
          void call('nextId', 1, async () => [await page.hilo.nextId(tag)])
      }),
    nextIds: () =>
      run(
        `nextIds ${count}`,
        () => void call('nextIds', count, () => page.hilo.nextIds(tag, count)),
      ),
    sync: () =>
      run(`${count} × nextIdSync`, () => {
        const ids: string[] = []
        try {
          while (ids.length < count) ids.push(page.hilo.nextIdSync(tag))
        } catch (error) {
          const { code } = error as HiloError
          const isExpected = code === 'not-leased' || code === 'closed'
          if (!isExpected && !idForms.isRefused(error as HiloError))
            checker.complain(`${name}: nextIdSync failed: ${(error as Error).stack}`)
        }
        if (ids.length > 0) issued(ids)
        page.busyAt = scheduler.awake
      }),
    take: () => run(`take ${count}`, () => void call('take', count, take)),
    warm: () =>
      run(`warm ${count}`, () => {
        page.warmed.set(tag, Math.max(count, page.warmed.get(tag) ?? 0))
        void call('warm', count, async () => {
          await page.hilo.warm(tag, count)
          // The page keeps them until the app uses them.
          wish(count)
          return undefined
        })
      }),
    reserve: () =>
      run(
        `reserve ${count}`,
        () => void call('reserve', 0, async () => void (await page.hilo.reserve(tag, count))),
      ),
    reserveAll: () =>
      run(`reserve ${count} of each`, () => {
        const counts = Object.fromEntries(profile.collections.map((each) => [each, count]))
        void call('reserve', 0, async () => void (await page.hilo.reserve(counts)))
      }),
    spellings: () =>
      run(`reserve ${count} of two spellings`, () => void call('reserve', 0, spellings)),
    ownRequest: () => run('a request of its own', () => void ownRequest()),
    release: () =>
      run('release', () => {
        const isAlone = device.releases++ === 0
        const begun = ++device.releasesBegun
        const { isOnline, journeys, unanswered } = device
        unanswered.clear()
        const released = call('release', 0, async () => {
          await page.hilo.release()
          // What a worker before the last one asked decides nothing: the last one released again.
          const last = page.workers.at(-1)?.actor.name
          const asked = [...unanswered].some((asker) => asker === name || asker === last)
          const isItsOwn = isAlone && device.releasesBegun === begun
          if (!isOnline && device.journeys === journeys && asked && isItsOwn)
            checker.complain(`${name}: released to a server that cannot be reached`)
          return undefined
        })
        released.then(() => device.releases--)
      }),
    close: () =>
      run('close', () => void call('close', 0, async () => void (await close(simulation, page)))),
    abort() {
      const controller = new AbortController()
      run(`nextIds ${count}, aborted`, () => {
        void call('nextIds', count, () =>
          page.hilo.nextIds(tag, count, { signal: controller.signal }),
        )
        scheduler.post(page.actor, random.between(0, 50), 'aborts', () => controller.abort())
      })
    },
    hasty: () =>
      run(
        `nextIds ${count}, hasty`,
        () => void call('nextIds', count, () => page.hilo.nextIds(tag, count, { timeout: 5 })),
      ),
    patient: () =>
      run(
        `nextIds ${count}, patient`,
        () => void call('nextIds', count, () => page.hilo.nextIds(tag, count, PATIENT)),
      ),
    stubborn: () =>
      run(
        'nextId, stubborn',
        () =>
          void call('nextId', 1, async () => [
            await page.hilo.nextId(tag).catch(() => page.hilo.nextId(tag, PATIENT)),
          ]),
      ),
    number: () => run('nextNumber', () => void call('nextNumber', 1, nextNumber)),
    numbers: () =>
      run('numbers of two nodes', () => {
        const all = profile.reserve + count
        void call('nextIds', all, () => page.hilo.nextIds(tag, all)).then(() =>
          call('nextNumber', 1, nextNumber),
        )
      }),
    stockpile: () => run('stockpile', () => void call('stockpile', 0, stockpile)),
    offline: () => run('goOffline', () => page.goOffline()),
    online: () => run('goOnline', () => page.goOnline()),
  }
  actions[action]()
}
